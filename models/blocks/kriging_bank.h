#pragma once

#include <cstdint>
#include <vector>

#include "ops/kriging/kriging_kernel.h"

namespace npzoo {

/// Kernels for values of standard deviation 1 at places that span about 4 units along each of 1 to 3 inputs, as tables
/// have once they are standardised: Matérn kernels of all smoothnesses, from a few points' distance up to trends, with
/// and without noise; with one input also those that repeat themselves, with two also those that are stretched.
/// Throws Error for other numbers of inputs.
std::vector<KrigingKernel> broad_kriging_bank(std::int64_t dim_x);

}  // namespace npzoo
