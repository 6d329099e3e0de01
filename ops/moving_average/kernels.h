#pragma once

#include "npzoo/engine/cuda/device_function.h"
#include "npzoo/engine/kernel.h"

namespace npzoo {

/// y(b, t) = Σ over s of times(t, s) x(b, s) / (2 reach + 1), or its transpose.
template <class T>
struct MovingAverage {
  std::int64_t batch, length, width, reach;
  bool transposed;
  const T* x;  // (batch, length, width)
  T* y;
};

/// How often position s is met around t, at most `reach` away from it, where the ends of a series are repeated.
NPZOO_DEVICE constexpr std::int64_t times_met(std::int64_t t, std::int64_t s, std::int64_t length, std::int64_t reach) {
  const std::int64_t low = s == 0 || s - t < -reach ? -reach : s - t;
  const std::int64_t high = s == length - 1 || s - t > reach ? reach : s - t;
  return high < low ? 0 : high - low + 1;
}

NPZOO_KERNEL(moving_average_forward, MovingAverage);

}  // namespace npzoo
