#pragma once

#include "npzoo/engine/tensor.h"

namespace npzoo {

// Reductions; float32 or float64. Sums are taken in double and in an order that depends on the shape alone. NaN
// propagates. An axis may be negative and is removed from the shape; Error if there is no such axis.

/// Sum of all elements, any shape → (). The sum of nothing is 0. Saves nothing.
Tensor sum(const Tensor& x);
Tensor sum(const Tensor& x, int axis);

/// Sum divided by the number of elements, any shape → (). The mean of nothing is NaN. Saves nothing.
Tensor mean(const Tensor& x);
Tensor mean(const Tensor& x, int axis);

/// log Σ exp(x) over one axis, relative to the largest element.
///
/// It is −∞ for an empty axis and for −∞ alone, and no gradient goes back. With +∞ it is +∞ and each +∞ takes the whole
/// gradient. Saves x and the result.
Tensor logsumexp(const Tensor& x, int axis);

/// Mean over the points of each set: out(b, :) = Σ_{i < lengths(b)} x(b, i, :) / lengths(b).
///
/// x (B, N, D), lengths (B) int64 in [0, N], or undefined for N everywhere → (B, D). An empty set gives 0. Points at
/// and behind the length are padding: never read, so they may be NaN, and their gradient is 0. Throws Error for a
/// length out of range. Saves the lengths.
Tensor masked_mean(const Tensor& x, const Tensor& lengths = {});

}  // namespace npzoo
