#include "npzoo/models/training/part_exchange.h"

#include <algorithm>
#include <cstring>

#include "npzoo/engine/cuda/transfer.h"

namespace npzoo {

namespace {

std::int64_t bytes_of(const Tensor& x) { return static_cast<std::int64_t>(x.bytes()); }

/// Returns the number of items of the rank that has most.
std::int64_t largest_share(std::int64_t items, std::int64_t ranks) { return (items + ranks - 1) / ranks; }

template <class T>
void add(std::byte* to, const std::byte* from, std::int64_t count) {
  auto* const sums = reinterpret_cast<T*>(to);
  const auto* const numbers = reinterpret_cast<const T*>(from);
  for (std::int64_t i = 0; i < count; ++i) sums[i] += numbers[i];
}

}  // namespace

PartExchange::PartExchange(Job& job, const std::vector<NamedParameter>& parameters, std::size_t worth_slices)
    : job_(job),
      parameters_(parameters),
      worth_slices_(worth_slices),
      head_bytes_(static_cast<std::int64_t>(sizeof(double) + parameters.size())),
      element_bytes_(static_cast<std::int64_t>(
          size_of(parameters.empty() ? DType::float32 : parameters[0].parameter->value.dtype()))) {
  for (const NamedParameter& p : parameters_) elements_ += p.parameter->value.numel();
}

std::vector<const Grads*> PartExchange::operator()(std::span<Part> parts, Tape& sum) {
  gather_heads(parts);
  const std::int64_t size = job_.size(), most = largest_share(std::ssize(parts), size);
  // A rank receives all parts of the others, or its slice of them and the sums of the other slices.
  const std::int64_t whole = (size - 1) * most * elements_ * element_bytes_;
  const std::int64_t slices = (size - 1) * (most + 1) * largest_share(elements_, size) * element_bytes_;
  std::vector<const Grads*> gradients;
  if (whole - slices < static_cast<std::int64_t>(worth_slices_)) {
    gather_parts(parts);
    for (const Part& part : parts) gradients.push_back(part.grads);
    return gradients;
  }
  sum_slices(parts);
  std::vector<std::byte> any(parameters_.size());
  for (std::int64_t part = 0; part < std::ssize(parts); ++part)
    for (std::size_t i = 0; i < any.size(); ++i) any[i] |= head(part)[sizeof(double) + i];
  Grads& received = sum.receive();
  read(received, any.data(), sums_.data());
  return {&received};
}

void PartExchange::gather_heads(std::span<Part> parts) {
  const std::int64_t count = std::ssize(parts), size = job_.size(), most = largest_share(count, size);
  std::vector<std::byte> own(static_cast<std::size_t>(most * head_bytes_)), all(own.size() * size);
  const RankShare mine = RankShare::of_rank(count, job_.rank(), size);
  for (std::int64_t i = mine.first; i < mine.last; ++i) {
    std::byte* const to = own.data() + (i - mine.first) * head_bytes_;
    std::memcpy(to, &parts[i].loss, sizeof(double));
    for (std::size_t p = 0; p < parameters_.size(); ++p)
      to[sizeof(double) + p] = std::byte{parts[i].grads->find(parameters_[p].parameter->value).defined()};
  }
  job_.gather(own, all);
  heads_.resize(static_cast<std::size_t>(count * head_bytes_));
  for (std::int64_t rank = 0; rank < size; ++rank) {
    const RankShare theirs = RankShare::of_rank(count, rank, size);
    std::memcpy(heads_.data() + theirs.first * head_bytes_, all.data() + rank * std::ssize(own),
                static_cast<std::size_t>(theirs.count() * head_bytes_));
  }
  for (std::int64_t i = 0; i < count; ++i) std::memcpy(&parts[i].loss, head(i), sizeof(double));
}

void PartExchange::write(const Part& part, std::byte* to) const {
  for (const NamedParameter& p : parameters_) {
    const Tensor& value = p.parameter->value;
    const Tensor& gradient = part.grads->find(value);
    if (!gradient.defined())
      std::memset(to, 0, value.bytes());
    else if (gradient.device() == Device::cpu)
      std::memcpy(to, gradient.address(), value.bytes());
    else
      download(to, gradient.address(), value.bytes());
    to += bytes_of(value);
  }
}

void PartExchange::read(Grads& grads, const std::byte* present, const std::byte* elements) const {
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const Tensor& value = parameters_[i].parameter->value;
    if (present[i] != std::byte{0}) {
      Tensor gradient = Tensor::empty_like(value);
      if (gradient.device() == Device::cpu)
        std::memcpy(gradient.address(), elements, value.bytes());
      else
        upload(gradient.address(), elements, value.bytes());
      grads.add(value, std::move(gradient));
    }
    elements += bytes_of(value);
  }
}

void PartExchange::gather_parts(std::span<Part> parts) {
  const std::int64_t count = std::ssize(parts), size = job_.size(), part = elements_ * element_bytes_;
  const RankShare mine = RankShare::of_rank(count, job_.rank(), size);
  own_.resize(static_cast<std::size_t>(largest_share(count, size) * part));
  all_.resize(own_.size() * size);
  for (std::int64_t i = mine.first; i < mine.last; ++i) write(parts[i], own_.data() + (i - mine.first) * part);
  job_.gather(own_, all_);
  for (std::int64_t rank = 0; rank < size; ++rank) {
    if (rank == job_.rank()) continue;
    const RankShare theirs = RankShare::of_rank(count, rank, size);
    for (std::int64_t i = theirs.first; i < theirs.last; ++i) {
      Grads& received = parts[i].tape->receive();
      read(received, head(i) + sizeof(double), all_.data() + rank * std::ssize(own_) + (i - theirs.first) * part);
      parts[i].grads = &received;
    }
  }
}

void PartExchange::sum_slices(std::span<const Part> parts) {
  const std::int64_t count = std::ssize(parts), size = job_.size(), most = largest_share(count, size);
  const std::int64_t slice = largest_share(elements_, size) * element_bytes_;  // bytes of the longest one
  const RankShare mine = RankShare::of_rank(count, job_.rank(), size);
  // A block for each rank: its slice of each part of this rank.
  own_.resize(static_cast<std::size_t>(size * most * slice));
  all_.resize(own_.size());
  sums_.resize(static_cast<std::size_t>(elements_ * element_bytes_));
  for (std::int64_t i = mine.first; i < mine.last; ++i) {
    write(parts[i], sums_.data());
    for (std::int64_t rank = 0; rank < size; ++rank) {
      const RankShare theirs = RankShare::of_rank(elements_, rank, size);
      std::memcpy(own_.data() + (rank * most + i - mine.first) * slice, sums_.data() + theirs.first * element_bytes_,
                  static_cast<std::size_t>(theirs.count() * element_bytes_));
    }
  }
  job_.exchange(own_, all_);
  own_.resize(static_cast<std::size_t>(slice));
  const RankShare here = RankShare::of_rank(elements_, job_.rank(), size);
  sum_slice(here.first, here.last, count, own_.data());
  all_.resize(own_.size() * size);
  job_.gather(own_, all_);
  for (std::int64_t rank = 0; rank < size; ++rank) {
    const RankShare theirs = RankShare::of_rank(elements_, rank, size);
    std::memcpy(sums_.data() + theirs.first * element_bytes_, all_.data() + rank * slice,
                static_cast<std::size_t>(theirs.count() * element_bytes_));
  }
}

void PartExchange::sum_slice(std::int64_t first, std::int64_t last, std::int64_t parts, std::byte* to) const {
  const std::int64_t size = job_.size(), most = largest_share(parts, size);
  const std::int64_t slice = largest_share(elements_, size) * element_bytes_;
  std::int64_t begin = 0;  // of a parameter, among the elements of all
  for (std::size_t p = 0; p < parameters_.size(); ++p) {
    const std::int64_t end = begin + parameters_[p].parameter->value.numel();
    const std::int64_t from = std::max(begin, first), until = std::min(end, last);
    begin = end;
    if (from >= until) continue;
    std::byte* const sums = to + (from - first) * element_bytes_;
    bool any = false;
    for (std::int64_t rank = 0; rank < size; ++rank) {
      const RankShare theirs = RankShare::of_rank(parts, rank, size);
      for (std::int64_t i = theirs.first; i < theirs.last; ++i) {
        if (head(i)[sizeof(double) + p] == std::byte{0}) continue;
        const std::byte* const numbers =
            all_.data() + (rank * most + i - theirs.first) * slice + (from - first) * element_bytes_;
        if (!any)
          std::memcpy(sums, numbers, static_cast<std::size_t>((until - from) * element_bytes_));
        else if (element_bytes_ == sizeof(float))
          add<float>(sums, numbers, until - from);
        else
          add<double>(sums, numbers, until - from);
        any = true;
      }
    }
    if (!any) std::memset(sums, 0, static_cast<std::size_t>((until - from) * element_bytes_));
  }
}

}  // namespace npzoo
