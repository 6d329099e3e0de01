#pragma once

#include "npzoo/engine/tensor.h"

namespace npzoo {

/// Mean over the `width` positions around each one; in front of the first and behind the last these are repeated:
/// y(b, t) = Σ over |j| ≤ (width − 1) / 2 of x(b, clamp(t + j, 0, L − 1)) / width. The trend of a series, as in
/// Autoformer (Wu et al., NeurIPS 2021, eq. 1).
///
/// x (B, L, D) float32 or float64 → (B, L, D). Empty extents are legal. Saves nothing. Throws Error if `width` is
/// not odd and positive.
Tensor moving_average(const Tensor& x, std::int64_t width);

}  // namespace npzoo
