#pragma once

#include "npzoo/engine/kernel.h"

namespace npzoo {

/// x and out are (batch, points, width); also the gradient's.
template <class T>
struct MaskPoints {
  std::int64_t batch, points, width;
  const std::int64_t* lengths;
  const T* x;
  T* out;
};

NPZOO_KERNEL(mask_points, MaskPoints);

}  // namespace npzoo
