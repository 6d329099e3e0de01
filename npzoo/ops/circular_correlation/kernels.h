#pragma once

#include "npzoo/engine/kernel.h"

namespace npzoo {

template <class T>
struct CircularCorrelation {
  std::int64_t batch, length, channels;
  const T* q;  // (batch, length, channels), and so is k
  const T* k;
  T* out;   // (batch, length)
  T* work;  // (work_elements()), for a CUDA device alone

  std::int64_t work_elements() const {
    return batch * (2 * (length / 2 + 1) * (2 * channels + 1) + 2 * channels * length);
  }
};

template <class T>
struct DelayedSum {
  std::int64_t batch, length, channels;
  bool reversed;     // out(t) = Σ over τ of weights(τ) · values(t − τ)
  const T* weights;  // (batch, length)
  const T* values;   // (batch, length, channels), and so is out
  T* out;
  T* work;  // (work_elements()), for a CUDA device alone

  std::int64_t work_elements() const { return batch * (channels + 1) * (2 * (length / 2 + 1) + length); }
};

NPZOO_KERNEL(circular_correlation_fourier, CircularCorrelation);
NPZOO_KERNEL(delayed_sum_fourier, DelayedSum);

}  // namespace npzoo
