#pragma once

#include "npzoo/engine/kernel.h"

namespace npzoo {

template <class T>
struct SoftmaxForward {
  std::int64_t rows, width;
  const T* x;
  T* y;
};

template <class T>
struct SoftmaxBackward {
  std::int64_t rows, width;
  const T* y;
  const T* d_y;
  T* d_x;
};

NPZOO_KERNEL(softmax_forward, SoftmaxForward);
NPZOO_KERNEL(softmax_backward, SoftmaxBackward);
NPZOO_KERNEL(log_softmax_forward, SoftmaxForward);
NPZOO_KERNEL(log_softmax_backward, SoftmaxBackward);

}  // namespace npzoo
