#pragma once

#include "npzoo/engine/tensor.h"

namespace npzoo {

/// exp(x) / Σ exp(x) over the last axis, relative to the largest element.
///
/// x (…, D) → (…, D); float32 or float64; sums in double. Empty extents are legal. A row of −∞ alone gives zeros and
/// takes no gradient; the +∞ of a row share its weight equally. NaN stays in its row. Saves the result.
Tensor softmax(const Tensor& x);

/// log softmax(x), without the detour through small numbers.
///
/// Shapes and dtypes as above. A row of −∞ alone stays so and takes no gradient. Saves the result.
Tensor log_softmax(const Tensor& x);

}  // namespace npzoo
