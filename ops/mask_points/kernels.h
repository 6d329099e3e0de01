#pragma once

#include "engine/cpu/context.h"
#include "engine/cuda/context.h"

namespace npzoo {

/// x and out are (batch, points, width); also the gradient's.
template <class T>
struct MaskPoints {
  std::int64_t batch, points, width;
  const std::int64_t* lengths;
  const T* x;
  T* out;
};

template <class T, Isa isa>
void mask_points(CpuContext<isa>& cpu, const MaskPoints<T>& p);
template <class T, Gpu gpu>
void mask_points(CudaContext<gpu>& cuda, const MaskPoints<T>& p);

}  // namespace npzoo
