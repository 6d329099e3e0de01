#pragma once

#include "engine/cpu/context.h"
#include "engine/cuda/context.h"

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

template <class T, Isa isa>
void geglu_forward(CpuContext<isa>& cpu, const GegluForward<T>& p);
template <class T, Gpu gpu>
void geglu_forward(CudaContext<gpu>& cuda, const GegluForward<T>& p);
template <class T, Isa isa>
void geglu_backward(CpuContext<isa>& cpu, const GegluBackward<T>& p);
template <class T, Gpu gpu>
void geglu_backward(CudaContext<gpu>& cuda, const GegluBackward<T>& p);

}  // namespace npzoo
