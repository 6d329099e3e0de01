#pragma once

#include "npzoo/engine/cpu/simd.h"

namespace npzoo::simd {

/// Copies up to a square of lanes, transposed: out(k, j) = factor · in(j, k) for j < columns and k < depth. The lanes
/// of `out` behind `columns` become 0. Rows are `stride` and `out_stride` elements apart.
template <class T>
void transpose_square(const T* in, std::int64_t stride, int columns, int depth, T* out, std::int64_t out_stride,
                      T factor = 1) {
  constexpr int kLanes = Simd<T>::kLanes;
  Vec<T> x[kLanes];
  if (columns == kLanes && depth == kLanes) {
#pragma GCC unroll 16
    for (int j = 0; j < kLanes; ++j) x[j] = load(in + j * stride);
  } else {
    for (int j = 0; j < kLanes; ++j) x[j] = j < columns ? load_first(in + j * stride, depth) : Vec<T>{};
  }
  transpose(x);
  for (int k = 0; k < depth; ++k) store(out + k * out_stride, x[k] * factor);
}

/// Rows of points to columns: out(c, p) = factor · rows(p, c) for p < points and c < width. The lanes behind the last
/// point, up to a whole register, become 0.
template <class T>
void load_transposed(const T* rows, std::int64_t stride, std::int64_t points, std::int64_t width, T factor, T* out,
                     std::int64_t out_stride) {
  constexpr std::int64_t kLanes = Simd<T>::kLanes;
  for (std::int64_t p = 0; p < points; p += kLanes)
    for (std::int64_t c = 0; c < width; c += kLanes)
      transpose_square(rows + p * stride + c, stride, static_cast<int>(min(kLanes, points - p)),
                       static_cast<int>(min(kLanes, width - c)), out + c * out_stride + p, out_stride, factor);
}

/// The reverse: rows(p, c) = factors(p) · in(c, p). `in` has whole registers; `factors`, too, or is null for 1.
template <class T>
void store_transposed(const T* in, std::int64_t in_stride, std::int64_t points, std::int64_t width, const T* factors,
                      T* rows, std::int64_t stride) {
  constexpr std::int64_t kLanes = Simd<T>::kLanes;
  for (std::int64_t p = 0; p < points; p += kLanes) {
    const Vec<T> factor = factors ? load(factors + p) : splat<T>(1);
    for (std::int64_t c = 0; c < width; c += kLanes) {
      const int channels = static_cast<int>(min(kLanes, width - c));
      Vec<T> x[kLanes];
#pragma GCC unroll 16
      for (int i = 0; i < kLanes; ++i) x[i] = i < channels ? load(in + (c + i) * in_stride + p) * factor : Vec<T>{};
      transpose(x);
      for (std::int64_t i = 0; i < min(kLanes, points - p); ++i)
        store_first(rows + (p + i) * stride + c, x[i], channels);
    }
  }
}

}  // namespace npzoo::simd
