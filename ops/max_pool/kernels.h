#pragma once

#include "npzoo/engine/cuda/device_function.h"
#include "npzoo/engine/kernel.h"

namespace npzoo {

struct PoolWindows {
  std::int64_t batch, length, channels, out_length;
  std::int64_t width, stride, padding;
};

template <class T>
struct MaxPoolForward {
  PoolWindows at;
  const T* x;
  T* y;
};

template <class T>
struct MaxPoolBackward {
  PoolWindows at;
  const T* x;
  const T* d_y;
  T* d_x;
};

/// Step of the first largest number in window i of one channel; `x` is its step 0. NaN is the largest.
template <class T>
NPZOO_DEVICE constexpr std::int64_t largest_in_window(const PoolWindows& at, const T* x, std::int64_t i) {
  const std::int64_t from = i * at.stride - at.padding;
  const std::int64_t first = from < 0 ? 0 : from, end = from + at.width < at.length ? from + at.width : at.length;
  std::int64_t best = first;
  for (std::int64_t t = first + 1; t < end; ++t) {
    const T value = x[t * at.channels], top = x[best * at.channels];
    if (value > top || (value != value && top == top)) best = t;
  }
  return best;
}

/// Sum of the gradients of the windows in which step t is the largest.
template <class T>
NPZOO_DEVICE constexpr T gradient_of_step(const MaxPoolBackward<T>& p, const T* x, const T* d_y, std::int64_t t) {
  const PoolWindows& at = p.at;
  const std::int64_t behind = t + at.padding, before = behind - at.width + 1;
  const std::int64_t first = before <= 0 ? 0 : (before + at.stride - 1) / at.stride;
  const std::int64_t last = behind / at.stride < at.out_length - 1 ? behind / at.stride : at.out_length - 1;
  T sum = 0;
  for (std::int64_t i = first; i <= last; ++i)
    if (largest_in_window(at, x, i) == t) sum += d_y[i * at.channels];
  return sum;
}

NPZOO_KERNEL(max_pool_forward, MaxPoolForward);
NPZOO_KERNEL(max_pool_backward, MaxPoolBackward);

}  // namespace npzoo
