#pragma once

#include "npzoo/engine/kernel.h"

namespace npzoo {

template <class T>
struct GatherForward {
  std::int64_t batch, points, picks, width;
  const T* x;                 // (batch, points, width)
  const std::int64_t* index;  // (batch, picks)
  T* out;                     // (batch, picks, width)
};

template <class T>
struct GatherBackward {
  std::int64_t batch, points, picks, width;
  const std::int64_t* index;
  const T* d_out;
  T* d_x;
  bool accumulate;  // adds to d_x instead of overwriting it
};

NPZOO_KERNEL(gather_forward, GatherForward);
NPZOO_KERNEL(gather_backward, GatherBackward);

}  // namespace npzoo
