#pragma once

#include "engine/cpu/context.h"
#include "engine/cuda/context.h"

namespace npzoo {

/// x (batch, points, width) → out (batch, width): mean over the first lengths[b] points.
template <class T>
struct MaskedMeanForward {
  std::int64_t batch, points, width;
  const std::int64_t* lengths;  // null: all points
  const T* x;
  T* out;
};

template <class T>
struct MaskedMeanBackward {
  std::int64_t batch, points, width;
  const std::int64_t* lengths;
  const T* d_out;
  T* d_x;
};

/// x (outer, n, inner) → out (outer, inner): the logarithm of the sum of exponentials over the middle axis.
template <class T>
struct LogSumExpForward {
  std::int64_t outer, n, inner;
  const T* x;
  T* out;
};

template <class T>
struct LogSumExpBackward {
  std::int64_t outer, n, inner;
  const T* x;
  const T* out;
  const T* d_out;
  T* d_x;
};

template <class T, Isa isa>
void masked_mean_forward(CpuContext<isa>& cpu, const MaskedMeanForward<T>& p);
template <class T, Gpu gpu>
void masked_mean_forward(CudaContext<gpu>& cuda, const MaskedMeanForward<T>& p);
template <class T, Isa isa>
void masked_mean_backward(CpuContext<isa>& cpu, const MaskedMeanBackward<T>& p);
template <class T, Gpu gpu>
void masked_mean_backward(CudaContext<gpu>& cuda, const MaskedMeanBackward<T>& p);
template <class T, Isa isa>
void logsumexp_forward(CpuContext<isa>& cpu, const LogSumExpForward<T>& p);
template <class T, Gpu gpu>
void logsumexp_forward(CudaContext<gpu>& cuda, const LogSumExpForward<T>& p);
template <class T, Isa isa>
void logsumexp_backward(CpuContext<isa>& cpu, const LogSumExpBackward<T>& p);
template <class T, Gpu gpu>
void logsumexp_backward(CudaContext<gpu>& cuda, const LogSumExpBackward<T>& p);

}  // namespace npzoo
