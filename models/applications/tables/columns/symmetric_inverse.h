#pragma once

#include <cstddef>
#include <span>

namespace npzoo {

/// Inverts a symmetric positive definite matrix (n, n) in place and returns the logarithm of its determinant. For the
/// small matrices of a row of a table. A pivot that rounding makes too small becomes the least that doubles resolve.
double invert_symmetric(std::span<double> matrix, std::size_t n);

}  // namespace npzoo
