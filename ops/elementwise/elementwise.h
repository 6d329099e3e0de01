#pragma once

#include "npzoo/engine/tensor.h"

namespace npzoo {

// Functions of one tensor, applied to every element: any shape → the same shape; float32 or float64; NaN propagates.
// Each saves its input or its output, whichever its derivative is written in (table.def).

Tensor relu(const Tensor& x);
/// x above 0, exp(x) − 1 below, without cancellation (Clevert, Unterthiner and Hochreiter, "Exponential linear units",
/// 2016).
Tensor elu(const Tensor& x);
/// x · Φ(x) with the exact normal distribution function (Hendrycks and Gimpel, "Gaussian error linear units", 2016).
Tensor gelu(const Tensor& x);
/// The tanh form of the same paper, the default of JAX.
Tensor gelu_tanh(const Tensor& x);
/// log(1 + exp(x)), without overflow.
Tensor softplus(const Tensor& x);
Tensor sigmoid(const Tensor& x);
Tensor tanh(const Tensor& x);
Tensor exp(const Tensor& x);
/// −∞ at 0, NaN below.
Tensor log(const Tensor& x);
Tensor square(const Tensor& x);
/// NaN below 0; the gradient at 0 is infinite.
Tensor sqrt(const Tensor& x);
Tensor reciprocal(const Tensor& x);
/// The gradient at 0 is 0.
Tensor abs(const Tensor& x);
/// log Φ(x) of the normal distribution function. Keeps its digits however far below 0 x is; above 0, to a rounding
/// of 1.
Tensor log_normal_cdf(const Tensor& x);
/// Binet's function, the remainder of Stirling's formula: log Γ(x) − (x − ½) log x + x − ½ log 2π, for x above 0, to a
/// few roundings of 1. It is small for large x, where differences of log Γ(x) would lose all digits. NaN below 0.
Tensor binet(const Tensor& x);

/// scale · x + shift. Saves nothing.
Tensor affine(const Tensor& x, double scale, double shift);
/// x limited to [low, high]; the gradient outside is 0. Saves x.
Tensor clamp(const Tensor& x, double low, double high);

// Functions of two tensors of one dtype, with broadcasting: axes are aligned at the end, an extent of 1 stretches.
// mul and div save both arguments, the others nothing.

Tensor add(const Tensor& a, const Tensor& b);
Tensor sub(const Tensor& a, const Tensor& b);
Tensor mul(const Tensor& a, const Tensor& b);
Tensor div(const Tensor& a, const Tensor& b);

}  // namespace npzoo
