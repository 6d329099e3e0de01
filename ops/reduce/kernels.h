#pragma once

#include "npzoo/engine/kernel.h"

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

NPZOO_KERNEL(masked_mean_forward, MaskedMeanForward);
NPZOO_KERNEL(masked_mean_backward, MaskedMeanBackward);
NPZOO_KERNEL(logsumexp_forward, LogSumExpForward);
NPZOO_KERNEL(logsumexp_backward, LogSumExpBackward);

}  // namespace npzoo
