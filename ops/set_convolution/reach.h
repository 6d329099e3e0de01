#pragma once

namespace npzoo {

/// Weights beyond this many length scales count as 0. They are below the square of T's rounding, exp(−36) = 2e-16 for
/// float and exp(−72) = 5e-32 for double, so they are lost beside the weight of any nearer point. A quotient by
/// density + 1e-8 changes by less than 3e-8 and 1e-23. A longer reach for float would only add denormal products.
template <class T>
inline constexpr double kSetConvolutionReach = sizeof(T) == 4 ? 8.5 : 12;

}  // namespace npzoo
