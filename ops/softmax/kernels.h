#pragma once

#include "engine/cpu/context.h"
#include "engine/cuda/context.h"

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

template <class T, Isa isa>
void softmax_forward(CpuContext<isa>& cpu, const SoftmaxForward<T>& p);
template <class T, Gpu gpu>
void softmax_forward(CudaContext<gpu>& cuda, const SoftmaxForward<T>& p);
template <class T, Isa isa>
void softmax_backward(CpuContext<isa>& cpu, const SoftmaxBackward<T>& p);
template <class T, Gpu gpu>
void softmax_backward(CudaContext<gpu>& cuda, const SoftmaxBackward<T>& p);
template <class T, Isa isa>
void log_softmax_forward(CpuContext<isa>& cpu, const SoftmaxForward<T>& p);
template <class T, Gpu gpu>
void log_softmax_forward(CudaContext<gpu>& cuda, const SoftmaxForward<T>& p);
template <class T, Isa isa>
void log_softmax_backward(CpuContext<isa>& cpu, const SoftmaxBackward<T>& p);
template <class T, Gpu gpu>
void log_softmax_backward(CudaContext<gpu>& cuda, const SoftmaxBackward<T>& p);

}  // namespace npzoo
