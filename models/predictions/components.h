#pragma once

#include <span>

#include "npzoo/engine/tensor.h"

// Helpers of predictions with a mixture of components at each target.

namespace npzoo {

/// (B, Nt, K) → (K, B, Nt). Recorded where a recording is on.
Tensor components_first(const Tensor& x);

/// (n), on the device of `like` and in its dtype.
Tensor row_of_constants(std::span<const double> values, const Tensor& like);

/// Which of classes comes for u, uniform on [0, 1); never one of probability 0.
std::size_t choose(std::span<const double> log_probability, double u);

}  // namespace npzoo
