#pragma once

// Helpers of softmax and attention. Only kernel sources include them.

#include "npzoo/engine/cpu/lanes.h"

namespace npzoo::simd {

/// Calls body(i, rest) for each register of a row: where it starts, how many elements are left from there.
template <class T, class F>
[[gnu::always_inline]] inline void for_registers(std::int64_t width, F body) {
  for (std::int64_t i = 0; i < width; i += kLanesOf<Vec<T>>) body(i, width - i);
}

/// exp_sum of a row, over all its lanes.
template <class T, class Keep>
[[gnu::always_inline]] inline ExpSum<T> row_sum(const T* x, std::int64_t width, Keep keep) {
  const auto at = [&](std::int64_t i) { return load_padded(x + i * kLanesOf<Vec<T>>, width - i * kLanesOf<Vec<T>>); };
  return exp_sum<T>((width + kLanesOf<Vec<T>> - 1) / kLanesOf<Vec<T>>, true, at, keep);
}

/// A row without anything but −∞ becomes 0. x and y may be the same row.
template <class T>
void softmax_row(const T* x, T* y, std::int64_t width) {
  const auto [shift, sum] = row_sum(x, width, [&](std::int64_t i, Vec<T> e) {
    store_up_to(y + i * kLanesOf<Vec<T>>, e, width - i * kLanesOf<Vec<T>>);
  });
  const T factor = sum[0] == 0 ? T(0) : 1 / sum[0];
  for (std::int64_t i = 0; i < width; ++i) y[i] *= factor;
}

/// d_y and d_x may be the same row.
template <class T>
void softmax_row_backward(const T* y, const T* d_y, T* d_x, std::int64_t width) {
  DoubleSum<T> sum;
  for_registers<T>(
      width, [&](std::int64_t i, std::int64_t rest) { sum.add(load_up_to(d_y + i, rest) * load_up_to(y + i, rest)); });
  const auto dot = static_cast<T>(sum.total());
  for (std::int64_t i = 0; i < width; ++i) d_x[i] = y[i] * (d_y[i] - dot);
}

}  // namespace npzoo::simd
