#pragma once

#include "npzoo/engine/cuda/device_function.h"

// Parts of log_normal_cdf, for numbers and registers alike; `c` makes constants of them. Included by kernel sources
// only.
namespace npzoo {

/// Φ(−t) exp(t²/2) for t in [0.7, 6.5]: Cody, "Rational Chebyshev approximations for the error function", Mathematics
/// of Computation 1969, with the coefficients of his PNORM.
template <class V, class C>
[[gnu::always_inline]] NPZOO_DEVICE inline V near_tail(V t, C c) {
  V p = c(1.0765576773720192317e-8) * t + c(0.39894151208813466764), q = t + c(22.266688044328115691);
  p = p * t + c(8.8831497943883759412), q = q * t + c(235.38790178262499861);
  p = p * t + c(93.506656132177855979), q = q * t + c(1519.377599407554805);
  p = p * t + c(597.27027639480026226), q = q * t + c(6485.558298266760755);
  p = p * t + c(2494.5375852903726711), q = q * t + c(18615.571640885098091);
  p = p * t + c(6848.1904505362823326), q = q * t + c(34900.952721145977266);
  p = p * t + c(11602.651437647350124), q = q * t + c(38912.003286093271411);
  p = p * t + c(9842.7148383839780218), q = q * t + c(19685.429676859990727);
  return p / q;
}

/// The same for t from 6.5 on: Laplace's continued fraction 1 / (t + 1 / (t + 2 / (t + …))) / √(2π), in 1 / t², as one
/// fraction.
template <class V, class C>
[[gnu::always_inline]] NPZOO_DEVICE inline V far_tail(V t, C c) {
  const V s = c(1) / (t * t);
  V p = c(1), q = c(1);
  for (int k = 14; k >= 1; --k) {
    const V next = p + c(k) * s * q;
    q = p;
    p = next;
  }
  return c(0.39894228040143267794) * q / (p * t);
}

}  // namespace npzoo
