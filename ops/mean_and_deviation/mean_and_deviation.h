#pragma once

#include <array>

#include "npzoo/engine/tensor.h"
#include "npzoo/ops/mean_and_deviation/deviation_form.h"

namespace npzoo {

/// Mean and standard deviation of Gaussians from a network's output.
///
/// raw (…, 2 D), float32 or float64 → mean (…, D), which is the first half, and std (…, D) from the second half. D = 0
/// and other empty extents are legal. NaN propagates. Saves raw.
std::array<Tensor, 2> mean_and_deviation(const Tensor& raw, const DeviationForm& form);

}  // namespace npzoo
