#pragma once

#include <algorithm>
#include <atomic>
#include <mutex>

#include "npzoo/engine/parallel.h"
#include "npzoo/engine/tape.h"
#include "npzoo/models/blocks/attention_listener.h"
#include "npzoo/ops/concat/concat.h"

namespace npzoo {

/// A test sets this to the points of a chunk, so that a few points make several chunks. 0: the device's number.
inline std::atomic<std::int64_t> chunk_points_of_test{0};

/// Points that are encoded at a time when nothing is recorded. This bounds the working memory, whatever the number of
/// points, and is enough work for each kernel.
inline std::int64_t chunk_points(Device device) {
  if (const std::int64_t wish = chunk_points_of_test.load(std::memory_order_relaxed); wish > 0) return wish;
  return device == Device::cpu ? 4096 : 65'536;
}

/// Calls f(begin, end) for consecutive chunks of at most `chunk` points; once for all of them while a recording is on,
/// since that keeps them all anyway.
template <class F>
void for_chunks(std::int64_t points, std::int64_t chunk, F f) {
  if (points <= chunk || current_tape()) return f(0, points);
  for (std::int64_t begin = 0; begin < points; begin += chunk) f(begin, std::min(begin + chunk, points));
}

/// Points [begin, end) of x (B, N, C).
inline Tensor points_between(const Tensor& x, std::int64_t begin, std::int64_t end) {
  return begin == 0 && end == x.dim(1) ? x : slice(x, 1, begin, end);
}

/// The (B, end − begin, C) that f(begin, end) gives for every chunk, joined to (B, N, C).
template <class F>
Tensor join_chunks(std::int64_t points, std::int64_t chunk, F f) {
  Tensor out;
  for_chunks(points, chunk, [&](std::int64_t begin, std::int64_t end) {
    const Tensor part = f(begin, end);
    if (end - begin == points) {
      out = part;
      return;
    }
    if (!out.defined()) out = Tensor::empty(part.shape().with(1, points), part.dtype(), part.device());
    copy_slice(part, 1, begin, out);
  });
  return out;
}

/// Points of a chunk whose points are independent. A CPU has one on each thread: at most 1,024, whose rows stay in the
/// second-level cache from layer to layer, and fewer where that gives 16 threads a chunk. Does not depend on the number
/// of threads.
inline std::int64_t chunk_of_independent(std::int64_t points, Device device) {
  constexpr std::int64_t kMost = 1024, kLeast = 256, kThreads = 16;
  const std::int64_t usual = chunk_points(device);
  if (device != Device::cpu || usual < kMost) return usual;  // a test wishes for less
  return points <= kMost ? kMost : std::clamp((points + kThreads - 1) / kThreads, kLeast, kMost);
}

/// f applied to x (B, N, C) chunk by chunk of its points: what f(x) would give, where f treats every point alone.
/// Threads of a CPU call f for several chunks at once. The result takes x's memory if it has the same shape and nothing
/// else holds x.
template <class F>
Tensor in_chunks(Tensor x, const F& f) {
  const std::int64_t points = x.dim(1), chunk = chunk_of_independent(points, x.device());
  if (points <= chunk || current_tape()) return f(x);
  const bool unshared = x.unique();
  Tensor out;
  std::once_flag made;
  const auto one = [&](std::int64_t begin, std::int64_t end) {
    const Tensor part = f(points_between(x, begin, end));
    std::call_once(made, [&] {
      const Shape whole = part.shape().with(1, points);
      out = unshared && whole == x.shape() ? x : Tensor::empty(whole, part.dtype(), part.device());
    });
    copy_slice(part, 1, begin, out);
  };
  // A listener hears of its own thread.
  if (x.device() == Device::cpu && !AttentionListener::current()) {
    thread_pool().for_range(points, chunk, one);
  } else {
    for (std::int64_t begin = 0; begin < points; begin += chunk) one(begin, std::min(begin + chunk, points));
  }
  return out;
}

}  // namespace npzoo
