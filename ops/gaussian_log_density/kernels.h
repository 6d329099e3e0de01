#pragma once

#include "npzoo/engine/kernel.h"

namespace npzoo {

template <class T>
struct GaussianLogDensityForward {
  std::int64_t rows, width;
  const T* y;
  const T* mean;
  const T* std;
  T* out;  // (rows)
};

/// Gradients that are not requested are null.
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

NPZOO_KERNEL(gaussian_log_density_forward, GaussianLogDensityForward);
NPZOO_KERNEL(gaussian_log_density_backward, GaussianLogDensityBackward);

}  // namespace npzoo
