#pragma once

#include "npzoo/engine/tensor.h"

namespace npzoo {

/// Gated linear unit with GELU (Shazeer, "GLU variants improve transformer", 2020): value · gelu(gate), value being the
/// first half of the last axis, gate the second, and gelu the exact one, gelu(z) = z Φ(z).
///
/// x (…, 2F) → (…, F); float32 or float64. F = 0 and no rows are legal. NaN and infinities stay with their pair; a gate
/// of −∞ gives NaN, as gelu does. Throws Error for a scalar and for an odd last extent. Saves x.
Tensor geglu(const Tensor& x);

}  // namespace npzoo
