#pragma once

#include "npzoo/engine/kernel.h"

namespace npzoo {

/// The values of a task: `values` numbers, of which the first lengths[b] · width count, or all if there are no lengths.
template <class T>
struct JointValues {
  std::int64_t batch, values, width;
  const std::int64_t* lengths;
  const T* error;  // (batch, values)
};

template <class T>
struct CholeskyDensityForward {
  JointValues<T> of;
  const T* factor;  // (batch, values, values)
  T* out;           // (batch)
  double* work;     // (batch, values)
};

/// Gradients that are not requested are null.
template <class T>
struct CholeskyDensityBackward {
  JointValues<T> of;
  const T* factor;
  const T* d_out;
  T* d_error;
  T* d_factor;
  double* work;  // (batch, 2, values)
};

template <class T>
struct LowRankDensityForward {
  JointValues<T> of;
  std::int64_t rank;
  const T* factor;    // (batch, values, rank)
  const T* diagonal;  // (batch, values)
  T* out;             // (batch)
  double* work;       // (batch, values + rank + rank²)
};

/// Gradients that are not requested are null.
template <class T>
struct LowRankDensityBackward {
  JointValues<T> of;
  std::int64_t rank;
  const T* factor;
  const T* diagonal;
  const T* d_out;
  T* d_error;
  T* d_factor;
  T* d_diagonal;
  double* work;  // (batch, values + rank + 2 rank²)
};

NPZOO_KERNEL(cholesky_density_forward, CholeskyDensityForward);
NPZOO_KERNEL(cholesky_density_backward, CholeskyDensityBackward);
NPZOO_KERNEL(low_rank_density_forward, LowRankDensityForward);
NPZOO_KERNEL(low_rank_density_backward, LowRankDensityBackward);

}  // namespace npzoo
