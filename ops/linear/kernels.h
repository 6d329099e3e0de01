#pragma once

#include "npzoo/engine/gemm.h"
#include "npzoo/engine/kernel.h"

namespace npzoo {

/// out = activation(x weightᵀ + bias) for few columns of x.
template <class T>
struct NarrowLinear {
  static constexpr std::int64_t kMaxColumns = 8;

  std::int64_t rows, columns, width;
  const T* x;       // (rows, columns)
  const T* weight;  // (width, columns)
  const T* bias;    // (width) or null
  T* out;           // (rows, width)
  Activation activation;
};

/// d_pre is d_out, with relu 0 where out ≤ 0. d_bias are its column sums.
template <class T>
struct LinearEpilogueBackward {
  std::int64_t rows, width;
  const T* d_out;
  const T* out;  // null: no activation, d_pre is not written
  T* d_pre;
  T* d_bias;  // (width); null: not requested
};

NPZOO_KERNEL(narrow_linear, NarrowLinear);
NPZOO_KERNEL(linear_epilogue_backward, LinearEpilogueBackward);

}  // namespace npzoo
