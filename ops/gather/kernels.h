#pragma once

#include "engine/cpu/context.h"
#include "engine/cuda/context.h"

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

template <class T, Isa isa>
void gather_forward(CpuContext<isa>& cpu, const GatherForward<T>& p);
template <class T, Gpu gpu>
void gather_forward(CudaContext<gpu>& cuda, const GatherForward<T>& p);
template <class T, Isa isa>
void gather_backward(CpuContext<isa>& cpu, const GatherBackward<T>& p);
template <class T, Gpu gpu>
void gather_backward(CudaContext<gpu>& cuda, const GatherBackward<T>& p);

}  // namespace npzoo
