#pragma once

#include "npzoo/engine/cpu/simd_math.h"

/// The standard normal distribution of a register of float or double, for kernel sources. NaN gives NaN.
namespace npzoo::simd {

/// P(X ≤ x), to a rounding of 1: probabilities far below 0 are not resolved.
template <class V>
[[gnu::always_inline]] inline V normal_cdf(V x) {
  using T = ScalarOf<V>;
  return T(0.5) * (1 + erf(x * T(0.70710678118654752440)));
}

template <class V>
[[gnu::always_inline]] inline V normal_density(V x) {
  using T = ScalarOf<V>;
  return T(0.39894228040143267794) * exp(T(-0.5) * x * x);
}

}  // namespace npzoo::simd
