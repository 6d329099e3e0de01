#pragma once

#include "engine/cpu/context.h"
#include "engine/cuda/context.h"

namespace npzoo {

template <class T>
struct GaussianLogDensityForward {
  std::int64_t rows, width;
  const T* y;
  const T* mean;
  const T* std;
  T* out;  // (rows)
};

/// The gradients that are not asked for are null.
template <class T>
struct GaussianLogDensityBackward {
  std::int64_t rows, width;
  const T* y;
  const T* mean;
  const T* std;
  const T* d_out;  // (rows)
  T* d_y;
  T* d_mean;
  T* d_std;
};

template <class T, Isa isa>
void gaussian_log_density_forward(CpuContext<isa>& cpu, const GaussianLogDensityForward<T>& p);
template <class T, Gpu gpu>
void gaussian_log_density_forward(CudaContext<gpu>& cuda, const GaussianLogDensityForward<T>& p);
template <class T, Isa isa>
void gaussian_log_density_backward(CpuContext<isa>& cpu, const GaussianLogDensityBackward<T>& p);
template <class T, Gpu gpu>
void gaussian_log_density_backward(CudaContext<gpu>& cuda, const GaussianLogDensityBackward<T>& p);

}  // namespace npzoo
