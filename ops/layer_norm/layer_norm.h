#pragma once

#include "npzoo/engine/tensor.h"

namespace npzoo {

/// Layer normalisation over the last axis (Ba, Kiros, Hinton, "Layer normalization", 2016):
/// out = (x − mean) / sqrt(variance + eps) · gain + bias, variance being the biased one, in two passes.
///
/// x (…, D), gain (D), bias (D) → (…, D); float32 or float64. D = 0 and no rows are legal. NaN stays in its row.
/// Saves x, gain, and the mean and reciprocal deviation of each row.
Tensor layer_norm(const Tensor& x, const Tensor& gain, const Tensor& bias, double eps = 1e-5);

/// A residual connection and the normalisation of its result.
struct ResidualNorm {
  Tensor sum;   // x + residual
  Tensor norm;  // layer_norm(x + residual)
};

/// Both in one pass over memory. `sum` is the residual stream of pre-norm blocks; post-norm blocks use `norm` alone.
ResidualNorm residual_layer_norm(const Tensor& x, const Tensor& residual, const Tensor& gain, const Tensor& bias,
                                 double eps = 1e-5);

}  // namespace npzoo
