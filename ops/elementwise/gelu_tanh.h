#pragma once

#include "npzoo/engine/cuda/device_function.h"

// Parts of gelu_tanh, for numbers and registers alike; `c` makes constants of them. Included by kernel sources only.
namespace npzoo {

/// The argument of the hyperbolic tangent.
template <class V, class C>
[[gnu::always_inline]] NPZOO_DEVICE inline V gelu_inner(V x, C c) {
  return c(0.79788456080286535588) * (x + c(0.044715) * x * x * x);  // √(2/π)
}

/// `t` is the hyperbolic tangent of gelu_inner(x).
template <class V, class C>
[[gnu::always_inline]] NPZOO_DEVICE inline V gelu_tanh_slope(V x, V t, C c) {
  const V inner_slope = c(0.79788456080286535588) * (c(1) + c(3 * 0.044715) * x * x);
  return c(0.5) * (c(1) + t + x * (c(1) - t * t) * inner_slope);
}

}  // namespace npzoo
