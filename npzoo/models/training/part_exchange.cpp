#include "npzoo/models/training/part_exchange.h"

#include <cstring>

namespace npzoo {

// A part is its loss, for each parameter whether it has a gradient, and for each the elements of that.

std::size_t PartExchange::bytes_of_part() const {
  std::size_t bytes = sizeof(double) + parameters_.size();
  for (const NamedParameter& p : parameters_) bytes += p.parameter->value.bytes();
  return bytes;
}

void PartExchange::write(const Part& part, std::byte* to) const {
  std::memcpy(to, &part.loss, sizeof(double));
  std::byte* const present = to + sizeof(double);
  std::byte* elements = present + parameters_.size();
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const Tensor& value = parameters_[i].parameter->value;
    const Tensor& gradient = part.grads->find(value);
    present[i] = std::byte{gradient.defined()};
    if (gradient.defined())
      std::memcpy(elements, gradient.raw().data(), gradient.bytes());
    else
      std::memset(elements, 0, value.bytes());
    elements += value.bytes();
  }
}

void PartExchange::read(Part& part, const std::byte* from) const {
  std::memcpy(&part.loss, from, sizeof(double));
  const std::byte* const present = from + sizeof(double);
  const std::byte* elements = present + parameters_.size();
  Grads& grads = part.tape->receive();
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const Tensor& value = parameters_[i].parameter->value;
    if (present[i] != std::byte{0}) {
      Tensor gradient = Tensor::empty_like(value);
      std::memcpy(gradient.raw().data(), elements, gradient.bytes());
      grads.add(value, std::move(gradient));
    }
    elements += value.bytes();
  }
  part.grads = &grads;
}

void PartExchange::operator()(std::span<Part> parts) {
  const std::int64_t count = std::ssize(parts), size = job_.size();
  const std::size_t bytes = bytes_of_part();
  const auto most = static_cast<std::size_t>((count + size - 1) / size);  // parts of a rank
  own_.resize(most * bytes);
  all_.resize(own_.size() * static_cast<std::size_t>(size));
  const RankShare own = RankShare::of_rank(count, job_.rank(), size);
  for (std::int64_t i = own.first; i < own.last; ++i)
    write(parts[static_cast<std::size_t>(i)], own_.data() + static_cast<std::size_t>(i - own.first) * bytes);
  job_.gather(own_, all_);
  for (std::int64_t rank = 0; rank < size; ++rank) {
    if (rank == job_.rank()) continue;
    const RankShare theirs = RankShare::of_rank(count, rank, size);
    for (std::int64_t i = theirs.first; i < theirs.last; ++i)
      read(parts[static_cast<std::size_t>(i)], all_.data() + static_cast<std::size_t>(rank) * own_.size() +
                                                   static_cast<std::size_t>(i - theirs.first) * bytes);
  }
}

}  // namespace npzoo
