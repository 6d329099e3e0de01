#pragma once

#include "npzoo/engine/kernel.h"

namespace npzoo {

template <class T>
struct TopSoftmaxForward {
  std::int64_t rows, width, k;
  const T* x;
  const T* by;
  T* y;
};

NPZOO_KERNEL(top_softmax_forward, TopSoftmaxForward);

}  // namespace npzoo
