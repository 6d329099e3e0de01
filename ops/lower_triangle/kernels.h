#pragma once

#include "npzoo/engine/kernel.h"

namespace npzoo {

/// x and out are (batch, size, size). `diagonal` (batch, size) replaces the diagonal of x, unless it is null.
template <class T>
struct LowerTriangleForward {
  std::int64_t batch, size;
  const T* x;
  const T* diagonal;
  T* out;
};

/// If `own_diagonal`, the diagonal's gradient goes to x, else to `diagonal`. Gradients that are not requested are null.
template <class T>
struct LowerTriangleBackward {
  std::int64_t batch, size;
  bool own_diagonal;
  const T* d_out;
  T* d_x;
  T* d_diagonal;
};

NPZOO_KERNEL(lower_triangle_forward, LowerTriangleForward);
NPZOO_KERNEL(lower_triangle_backward, LowerTriangleBackward);

}  // namespace npzoo
