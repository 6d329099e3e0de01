#pragma once

#include "npzoo/engine/cuda/device_code.h"

/// The standard normal distribution, for kernel sources. NaN gives NaN.
namespace npzoo {

namespace {

/// P(X ≤ x), to a rounding of 1: probabilities far below 0 are not resolved.
template <class T>
__device__ T normal_cdf(T x) {
  return T(0.5) * (T(1) + error_function(x * T(0.70710678118654752440)));
}

template <class T>
__device__ T normal_density(T x) {
  return T(0.39894228040143267794) * exponential(T(-0.5) * x * x);
}

}  // namespace

}  // namespace npzoo
