#pragma once

#include "npzoo/engine/gemm.h"
#include "npzoo/engine/tensor.h"

namespace npzoo {

/// out = activation(x weightᵀ + bias), bias and activation fused into the product.
///
/// x (…, K), weight (N, K), bias (N) or undefined → (…, N); float32 or float64. Empty extents are legal: K = 0 gives
/// the bias. Up to eight columns (the input projections) are computed row by row instead of as a matrix product. Saves
/// x, weight and, with relu, the output.
Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias, Activation activation = Activation::none);

}  // namespace npzoo
