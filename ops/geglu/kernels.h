#pragma once

#include "npzoo/engine/kernel.h"

namespace npzoo {

/// A row of x is `width` values, then their gates.
template <class T>
struct GegluForward {
  std::int64_t rows, width;
  const T* x;  // (rows, 2 width)
  T* y;        // (rows, width)
};

template <class T>
struct GegluBackward {
  std::int64_t rows, width;
  const T* x;
  const T* d_y;
  T* d_x;
};

NPZOO_KERNEL(geglu_forward, GegluForward);
NPZOO_KERNEL(geglu_backward, GegluBackward);

}  // namespace npzoo
