#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "npzoo/ops/kriging/kriging_kernel.h"

namespace npzoo {

/// Kernels for values of standard deviation 1 at places that span about 4 units along each of 1 to 3 inputs, as tables
/// have once they are standardised: Matérn kernels of all smoothnesses, from a few points' distance up to trends, with
/// and without noise; with one input also those that repeat themselves, with two also those that are stretched.
///
/// Weights are trained with one bank and predict with it, so a checkpoint names its bank. "broad-1" is the only one.
/// Its kernels never change: other kernels get another name. Throws Error for another name or number of inputs.
std::vector<KrigingKernel> named_kriging_bank(const std::string& name, std::int64_t dim_x);

}  // namespace npzoo
