#pragma once

#include "npzoo/engine/tensor.h"

namespace npzoo {

/// log N(y; mean, std²) in nats, summed over the last axis:
/// Σ −½ ((y − mean) / std)² − log std − ½ log 2π.
///
/// y, mean, std (…, D), all of one shape → (…); float32 or float64, computed in double either way. D = 0 gives 0. NaN
/// propagates to its row; std ≤ 0 gives NaN, in the value and in the gradients. Saves y, mean and std.
Tensor gaussian_log_density(const Tensor& y, const Tensor& mean, const Tensor& std);

}  // namespace npzoo
