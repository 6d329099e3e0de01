#pragma once

#include "engine/cpu/simd.h"

namespace npzoo::simd {

/// Copies up to a square of lanes, transposed: out(k, j) = factor · in(j, k) for j < columns and k < depth. The lanes of
/// `out` behind `columns` become 0. Rows are `stride` and `out_stride` elements apart.
template <class T, Isa isa = kIsa>
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

}  // namespace npzoo::simd
