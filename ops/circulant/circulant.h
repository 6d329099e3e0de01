#pragma once

#include "npzoo/engine/tensor.h"

namespace npzoo {

/// Circular shifts as matrices, and back. With products of matrices these are circular correlation and convolution:
/// (circulant(a) v)(t) = Σ over τ of a(τ) v(t + τ), and circulant_sums(k qᵀ)(τ) = Σ over t of q(t + τ) · k(t),
/// positions modulo L. Of long series, the transforms of npzoo/ops/circular_correlation say the same sooner.

/// out(b, t, s) = a(b, (s − t) mod L).
///
/// a (B, L) float32 or float64 → (B, L, L). Empty extents are legal. Saves nothing.
Tensor circulant(const Tensor& a);

/// The transpose of that: out(b, τ) = Σ over t of x(b, t, (t + τ) mod L), in double.
///
/// x (B, L, L) float32 or float64 → (B, L). Empty extents are legal. Saves nothing.
Tensor circulant_sums(const Tensor& x);

}  // namespace npzoo
