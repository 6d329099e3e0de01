#pragma once

#include "npzoo/engine/tensor.h"

namespace npzoo {

/// The training loss of log-likelihoods l (…, N) of points, a scalar: −mean over rows of Σ w l / total, where w are
/// `weights` of l's shape and `totals` (…) those of the rows.
///
/// Without weights all are 1; without totals these are the sums of the weights. float32 or float64, computed in double.
/// NaN propagates, also where its weight is 0. A row whose total is 0, or no row at all, gives NaN. Weights and totals
/// have no gradient. Saves both.
Tensor mean_nll(const Tensor& log_likelihood, const Tensor& weights = {}, const Tensor& totals = {});

}  // namespace npzoo
