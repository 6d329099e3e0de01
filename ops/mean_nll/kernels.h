#pragma once

#include "npzoo/engine/kernel.h"

namespace npzoo {

template <class T>
struct MeanNllForward {
  std::int64_t rows, width;
  const T* log_likelihood;  // (rows, width)
  const T* weights;         // (rows, width), null: 1
  const T* totals;          // (rows), null: sums of the weights
  double* row_totals;       // (rows)
  double* row_means;        // (rows)
  T* out;                   // one number
};

template <class T>
struct MeanNllBackward {
  std::int64_t rows, width;
  const T* weights;
  const double* row_totals;
  const T* d_out;  // one number
  T* d_log_likelihood;
};

NPZOO_KERNEL(mean_nll_forward, MeanNllForward);
NPZOO_KERNEL(mean_nll_backward, MeanNllBackward);

}  // namespace npzoo
