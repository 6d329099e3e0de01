#pragma once

#include "npzoo/engine/tensor.h"

namespace npzoo {

/// Picks points: out(b, k, :) = x(b, index(b, k), :).
///
/// x (B, N, D) float32 or float64, index (B, K) int64 in [0, N) → (B, K, D). A point may be picked any number of times;
/// its gradients are summed in the order of k. Empty extents are legal, except N = 0 with something to pick. Throws
/// Error for an index out of range. Saves the index.
Tensor gather(const Tensor& x, const Tensor& index);

}  // namespace npzoo
