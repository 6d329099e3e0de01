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
/// "broad-1" has these. "axes-1", for three inputs, adds kernels whose length scale along one input is four or sixteen
/// times longer or shorter than along the two others.
///
/// Weights are trained with one bank and predict with it, so a checkpoint names its bank. The kernels of a name never
/// change: others get another name. Throws Error for another name or number of inputs.
std::vector<KrigingKernel> named_kriging_bank(const std::string& name, std::int64_t dim_x);

}  // namespace npzoo
