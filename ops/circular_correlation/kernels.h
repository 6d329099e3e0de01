#pragma once

#include <algorithm>

#include "npzoo/engine/cuda/fourier.h"
#include "npzoo/engine/kernel.h"

namespace npzoo {

template <class T>
struct CircularCorrelation {
  std::int64_t batch, length, channels;
  const T* q;  // (batch, length, channels), and so is k
  const T* k;
  T* out;   // (batch, length)
  T* work;  // (work_elements()), for a CUDA device alone

  /// Series of q and k, and of the result, as they are transformed. length > 0.
  std::int64_t inputs() const { return padded_series(2 * batch * channels, length); }
  std::int64_t results() const { return padded_series(batch, length); }
  std::int64_t work_elements() const {
    if (length == 0) return 0;
    return 2 * (length / 2 + 1) * (inputs() + results()) + length * std::max(inputs(), results());
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

  /// Series of weights, and of values, as they are transformed. length > 0.
  std::int64_t weight_series() const { return padded_series(batch, length); }
  std::int64_t value_series() const { return padded_series(batch * channels, length); }
  std::int64_t work_elements() const {
    if (length == 0) return 0;
    return (weight_series() + value_series()) * (2 * (length / 2 + 1) + length);
  }
};

NPZOO_KERNEL(circular_correlation_fourier, CircularCorrelation);
NPZOO_KERNEL(delayed_sum_fourier, DelayedSum);

}  // namespace npzoo
