#pragma once

#include "npzoo/engine/tensor.h"

namespace npzoo {

/// Softmax over the `k` elements of each row for which `by` is greatest, the earlier ones among equals; 0 elsewhere.
/// All of it stays on the device, where the chosen places are known by weights that are not 0.
///
/// x and by (…, D), one dtype, float32 or float64 → (…, D). `by` may be x itself and takes no gradient. All elements
/// where k ≥ D. NaN in `by` is chosen beside the k, and NaN among the chosen makes its row NaN. Otherwise as `softmax`.
/// Saves the result. Throws Error if k is negative or shapes and dtypes differ.
Tensor top_softmax(const Tensor& x, const Tensor& by, std::int64_t k);

}  // namespace npzoo
