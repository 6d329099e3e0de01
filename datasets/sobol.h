#pragma once

#include <cstdint>
#include <vector>

namespace npzoo {

/// The most coordinates of a Sobol sequence.
inline constexpr std::int64_t kMostSobolDims = 20;

/// Points `first` … first + count − 1 of a Sobol sequence in [0, 1)^dims, row-major (count, dims), in the order of
/// Antonov and Saleev; first + count below 2³². Direction numbers: Joe and Kuo, "Constructing Sobol sequences with
/// better two-dimensional projections", SIAM J. Sci. Comput. 2008. The seed shifts all points together, digit by digit,
/// so that no point is at a corner and that different seeds give different designs of the same evenness.
std::vector<double> sobol_points(std::int64_t dims, std::int64_t first, std::int64_t count, std::uint64_t seed);

}  // namespace npzoo
