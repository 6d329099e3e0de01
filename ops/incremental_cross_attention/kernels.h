#pragma once

#include "npzoo/engine/kernel.h"

namespace npzoo {

template <class T>
struct MergeForward {
  std::int64_t batch, latents, heads, width;  // width of one head
  const T* a_mean;
  const T* a_log_sum;
  const T* b_mean;
  const T* b_log_sum;
  T* mean;
  T* log_sum;
};

template <class T>
struct MergeBackward {
  MergeForward<T> forward;
  const T* d_mean;     // null: nothing depends on the mean
  const T* d_log_sum;  // null: nothing depends on the log-sum-exp
  T* d_a_mean;
  T* d_a_log_sum;
  T* d_b_mean;
  T* d_b_log_sum;
};

NPZOO_KERNEL(merge_forward, MergeForward);
NPZOO_KERNEL(merge_backward, MergeBackward);

}  // namespace npzoo
