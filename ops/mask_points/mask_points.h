#pragma once

#include "npzoo/engine/tensor.h"

namespace npzoo {

/// Zeros in place of padding: out(b, i, :) = x(b, i, :) where i < lengths(b), else 0.
///
/// x (B, N, D) float32 or float64, lengths (B) int64 in [0, N], on the CPU → (B, N, D). Padding is never read, so it
/// may be NaN, and its gradient is 0. Empty extents are legal. Throws Error for a length out of range. Saves the
/// lengths.
Tensor mask_points(const Tensor& x, const Tensor& lengths);

}  // namespace npzoo
