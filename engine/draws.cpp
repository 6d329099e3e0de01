#include "npzoo/engine/draws.h"

#include <algorithm>
#include <bit>

#include "npzoo/engine/parallel.h"

namespace npzoo {

namespace {

// Philox's stream is purpose (8 bits), step (32), call (24); its offset is task (20), sample (16), block (28).
constexpr int kStepBits = 32, kCallBits = 24, kTaskBits = 20, kSampleBits = 16, kBlockBits = 28;
static_assert(kBlocksOfATask == std::uint64_t{1} << (kSampleBits + kBlockBits));

void check_fits(const char* what, std::int64_t count, int bits) {
  const std::int64_t most = std::int64_t{1} << bits;
  check(count <= most, "[draws] {} {} found, expected {} at most", count, what, most);
}

Shape without_ones(const Shape& shape) {
  std::vector<std::int64_t> extents;
  for (int i = 0; i < shape.rank(); ++i)
    if (shape[i] != 1) extents.push_back(shape[i]);
  return Shape(extents);
}

/// Calls fill(task, sample, index of it in the result) for all, on several threads where there is enough to do.
template <class F>
void for_samples(const Shape& shape, const F& fill) {
  const std::int64_t samples = shape[0], tasks = shape[1],
                     each = shape.numel() / std::max<std::int64_t>(samples * tasks, 1);
  thread_pool().for_range(samples * tasks, std::max<std::int64_t>(1, 4096 / std::max<std::int64_t>(each, 1)),
                          [&](std::int64_t begin, std::int64_t end) {
                            for (std::int64_t i = begin; i < end; ++i) fill(i % tasks, i / tasks, i * each, each);
                          });
}

/// Integers (samples, tasks, n) of a recording point to elements.
void check_below(const Tensor& below, std::int64_t call, const Tensor& out) {
  const auto bounds = below.values<std::int64_t>();
  const auto found = out.values<std::int64_t>();
  const std::int64_t tasks = out.shape()[1], n = out.shape()[2];
  for (std::int64_t i = 0; i < out.numel(); ++i) {
    const std::int64_t most = std::max<std::int64_t>(bounds[static_cast<std::size_t>(i / n % tasks)] - 1, 0),
                       value = found[static_cast<std::size_t>(i)];
    check(0 <= value && value <= most, "[draws] recorded tensor {} holds {}, expected 0 to {}", call, value, most);
  }
}

}  // namespace

Draws::Draws(std::uint64_t seed, Purpose purpose, std::uint64_t step)
    : seed_(seed), purpose_(static_cast<std::uint64_t>(purpose)), step_(step) {
  check(step >> kStepBits == 0, "[draws] step {} found, expected one below 2^{}", step, kStepBits);
}

Draws Draws::recorded(std::vector<Tensor> in_order_of_calls) {
  Draws draws;
  draws.recorded_ = std::move(in_order_of_calls);
  return draws;
}

Draws Draws::noted_in(std::vector<Tensor>& notes) const {
  Draws draws = *this;
  draws.notes_ = &notes;
  return draws;
}

Draws Draws::from(std::int64_t first) const {
  Draws part = *this;
  part.first_task_ += first;
  part.part_ = true;
  return part;
}

Draws Draws::kept_in(KeptDraws& kept) const {
  Draws draws = *this;
  draws.kept_ = &kept;
  return draws;
}

RandomState Draws::start(std::int64_t call, std::int64_t task, std::int64_t sample) const {
  return {seed_, purpose_ << (kStepBits + kCallBits) | step_ << kCallBits | static_cast<std::uint64_t>(call),
          static_cast<std::uint64_t>(first_task_ + task) * kBlocksOfATask | static_cast<std::uint64_t>(sample)
                                                                                << kBlockBits};
}

void Draws::fill_recorded(std::int64_t call, Tensor& out) const {
  check(call < std::ssize(*recorded_), "[draws] {} recorded tensors found, expected one more", recorded_->size());
  Tensor whole = (*recorded_)[static_cast<std::size_t>(call)];
  const Shape& shape = out.shape();
  if (!part_ && without_ones(whole.shape()) == without_ones(shape)) whole = whole.view(shape);
  const bool fits = whole.rank() == shape.rank() && whole.shape().with(1, shape[1]) == shape &&
                    (part_ ? first_task_ + shape[1] <= whole.dim(1) : shape[1] == whole.dim(1));
  check(fits && (whole.dtype() == DType::int64) == (out.dtype() == DType::int64),
        "[draws] recorded tensor {} is {} {}, expected {} {}{}", call, to_string(whole.dtype()), whole.shape(),
        to_string(out.dtype()), shape, part_ ? " from task " + std::to_string(first_task_) + " on" : "");
  const Tensor converted = whole.to(Device::cpu).to(out.dtype());
  const std::size_t row = out.bytes() / static_cast<std::size_t>(std::max<std::int64_t>(shape[0], 1));
  const std::size_t task = row / static_cast<std::size_t>(std::max<std::int64_t>(shape[1], 1));
  for (std::int64_t k = 0; k < shape[0] && row > 0; ++k)
    std::ranges::copy(converted.raw().subspan(static_cast<std::size_t>(k * whole.dim(1) + first_task_) * task, row),
                      out.raw().subspan(static_cast<std::size_t>(k) * row, row).begin());
}

void Draws::fill(const Request& request, std::int64_t call, Tensor& out) const {
  if (request.kind == Kind::derived) return request.derive(out.values<std::int64_t>());
  if (recorded_ && request.kind != Kind::generator) {
    fill_recorded(call, out);
    if (request.kind == Kind::integers) check_below(request.below, call, out);
    return;
  }
  if (request.kind == Kind::generator) {
    check(!recorded_, "[draws] a recording has no numbers for a kernel that draws its own");
    const RandomState first = start(call, 0, 0);
    const std::int64_t words[] = {std::bit_cast<std::int64_t>(first.seed), std::bit_cast<std::int64_t>(first.stream),
                                  std::bit_cast<std::int64_t>(first.offset)};
    std::ranges::copy(words, out.values<std::int64_t>().begin());
  } else if (request.kind == Kind::integers) {
    const auto below = request.below.values<std::int64_t>();
    const auto all = out.values<std::int64_t>();
    for_samples(out.shape(), [&](std::int64_t task, std::int64_t sample, std::int64_t index, std::int64_t each) {
      Random random(start(call, task, sample));
      const std::int64_t bound = below[static_cast<std::size_t>(task)];
      for (std::int64_t i = index; i < index + each; ++i)
        all[static_cast<std::size_t>(i)] = bound > 0 ? random.integer(0, bound) : 0;
    });
  } else {
    for_samples(out.shape(), [&](std::int64_t task, std::int64_t sample, std::int64_t index, std::int64_t each) {
      std::vector<double> numbers(static_cast<std::size_t>(each));
      Random random(start(call, task, sample));
      if (request.kind == Kind::normal)
        random.fill_normal(numbers);
      else
        std::ranges::generate(numbers, [&] { return random.uniform(); });
      const auto put = [&]<class T>(std::span<T> all) {
        std::ranges::transform(numbers, all.begin() + index, [](double x) { return static_cast<T>(x); });
      };
      if (out.dtype() == DType::float32)
        put(out.values<float>());
      else
        put(out.values<double>());
    });
  }
}

Tensor Draws::draw(const Request& request, DType dtype) {
  const std::int64_t call = calls_;
  check_fits("calls in a step", call + 1, kCallBits);
  Tensor numbers;
  if (kept_) {
    numbers = kept_->at(kept_calls_++, call, request, dtype, *this);
  } else {
    numbers = Tensor::empty(request.shape, dtype, Device::cpu);
    fill(request, call, numbers);
  }
  if (request.kind == Kind::derived) return numbers;
  ++calls_;
  if (notes_) notes_->push_back(numbers);
  return numbers;
}

Tensor Draws::draw_numbers(Kind kind, std::int64_t samples, std::int64_t tasks, const Shape& each, DType dtype) {
  check_fits("tasks", first_task_ + tasks, kTaskBits);
  check_fits("samples", samples, kSampleBits);
  const bool pairs = kind == Kind::normal;  // two numbers come of one block
  check_fits("numbers in a sample", each.numel(), kBlockBits + (pairs ? 1 : 0));
  std::vector<std::int64_t> extents{samples, tasks};
  extents.insert(extents.end(), each.begin(), each.end());
  return draw({kind, Shape(extents)}, dtype);
}

Tensor Draws::normal(std::int64_t samples, std::int64_t tasks, const Shape& each, DType dtype, Device device) {
  return draw_numbers(Kind::normal, samples, tasks, each, dtype).to(device);
}

Tensor Draws::uniform(std::int64_t samples, std::int64_t tasks, const Shape& each, DType dtype, Device device) {
  return draw_numbers(Kind::uniform, samples, tasks, each, dtype).to(device);
}

Tensor Draws::integers(std::int64_t samples, const Tensor& below, std::int64_t n) {
  check_fits("tasks", first_task_ + below.dim(0), kTaskBits);
  check_fits("samples", samples, kSampleBits);
  check_fits("integers in a sample", n, kBlockBits);
  return draw({Kind::integers, {samples, below.dim(0), n}, below}, DType::int64);
}

Tensor Draws::generator(std::int64_t tasks, Device device) {
  check_fits("tasks", first_task_ + tasks, kTaskBits);
  return draw({Kind::generator, {3}}, DType::int64).to(device);
}

Tensor Draws::derived(const Shape& shape, std::function<void(std::span<std::int64_t>)> fill) {
  return draw({.kind = Kind::derived, .shape = shape, .derive = std::move(fill)}, DType::int64);
}

Tensor KeptDraws::at(std::int64_t index, std::int64_t call, const Draws::Request& request, DType dtype,
                     const Draws& draws) {
  if (index == std::ssize(kept_)) kept_.push_back({request, call, Tensor::pinned(request.shape, dtype)});
  Kept& kept = kept_.at(static_cast<std::size_t>(index));
  check(kept.request.kind == request.kind && kept.request.shape == request.shape && kept.numbers.dtype() == dtype,
        "[draws] call {} of a repeated step is for {} {}, expected {} {} as before", call, to_string(dtype),
        request.shape, to_string(kept.numbers.dtype()), kept.request.shape);
  kept.request = request;
  draws.fill(request, call, kept.numbers);
  return kept.numbers;
}

void KeptDraws::refill(const Draws& draws) {
  for (Kept& kept : kept_) draws.fill(kept.request, kept.call, kept.numbers);
}

}  // namespace npzoo
