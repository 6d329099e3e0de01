#pragma once

#include "npzoo/engine/kernel.h"
#include "npzoo/ops/mean_and_deviation/deviation_form.h"

namespace npzoo {

template <class T>
struct MeanAndDeviationForward {
  std::int64_t rows, width;  // width: of one half
  DeviationForm form;
  const T* raw;  // (rows, 2 width)
  T* mean;       // (rows, width)
  T* std;        // (rows, width)
};

template <class T>
struct MeanAndDeviationBackward {
  std::int64_t rows, width;
  DeviationForm form;
  const T* raw;
  const T* d_mean;  // null: 0
  const T* d_std;   // null: 0
  T* d_raw;
};

NPZOO_KERNEL(mean_and_deviation_forward, MeanAndDeviationForward);
NPZOO_KERNEL(mean_and_deviation_backward, MeanAndDeviationBackward);

}  // namespace npzoo
