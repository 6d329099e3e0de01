#pragma once

#include "npzoo/engine/cuda/device_function.h"

// Parts of binet, for numbers and registers alike; `c` makes constants of them. Included by kernel sources only.
namespace npzoo {

/// Stirling's series of Binet's function for x from 8 on (Abramowitz and Stegun 6.1.40), to 1e-15.
template <class V, class C>
[[gnu::always_inline]] NPZOO_DEVICE inline V far_binet(V x, C c) {
  const V r = c(1) / x, s = r * r;
  V sum = c(1.0 / 156);
  sum = sum * s - c(691.0 / 360360);
  sum = sum * s + c(1.0 / 1188);
  sum = sum * s - c(1.0 / 1680);
  sum = sum * s + c(1.0 / 1260);
  sum = sum * s - c(1.0 / 360);
  return (sum * s + c(1.0 / 12)) * r;
}

/// Its derivative.
template <class V, class C>
[[gnu::always_inline]] NPZOO_DEVICE inline V far_binet_slope(V x, C c) {
  const V s = c(1) / (x * x);
  V sum = c(-1.0 / 12);
  sum = sum * s + c(691.0 / 32760);
  sum = sum * s - c(1.0 / 132);
  sum = sum * s + c(1.0 / 240);
  sum = sum * s - c(1.0 / 252);
  sum = sum * s + c(1.0 / 120);
  return (sum * s - c(1.0 / 12)) * s;
}

// From x below 8 the recurrence of the gamma function leads to x + 8: Γ(x + 8) = x (x + 1) … (x + 7) Γ(x). The callers
// take the logarithms, whose functions this header does not know.

template <class V, class C>
[[gnu::always_inline]] NPZOO_DEVICE inline V binet_ratio(V x, C c) {
  return (x + c(8)) / x;
}

/// (x + 8)⁸ / (x (x + 1) … (x + 7))
template <class V, class C>
[[gnu::always_inline]] NPZOO_DEVICE inline V binet_products(V x, C c) {
  V product = x, power = (x + c(8)) * (x + c(8));
  for (int i = 1; i < 8; ++i) product = product * (x + c(i));
  power = power * power;
  return power * power / product;
}

template <class V, class C>
[[gnu::always_inline]] NPZOO_DEVICE inline V near_binet(V x, V log_ratio, V log_products, C c) {
  return (x - c(0.5)) * log_ratio + (log_products - c(8)) + far_binet(x + c(8), c);
}

template <class V, class C>
[[gnu::always_inline]] NPZOO_DEVICE inline V near_binet_slope(V x, V log_ratio, C c) {
  V product = x, slope = c(1);
  for (int i = 1; i < 8; ++i) {
    slope = slope * (x + c(i)) + product;
    product = product * (x + c(i));
  }
  return log_ratio + c(0.5) / x - c(0.5) / (x + c(8)) - slope / product + far_binet_slope(x + c(8), c);
}

}  // namespace npzoo
