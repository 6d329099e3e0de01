#pragma once

#include "npzoo/engine/tensor.h"

namespace npzoo {

/// Square matrices without what is above the diagonal: out(b, i, j) = x(b, i, j) where j < i, 0 where j > i, and on the
/// diagonal `diagonal(b, i)` if it is given, else x(b, i, i).
///
/// x (B, M, M), diagonal (B, M) or undefined, of one dtype, float32 or float64 → (B, M, M). What is left out is not
/// looked at and its gradient is 0. Empty extents are legal. Saves nothing.
Tensor lower_triangle(const Tensor& x, const Tensor& diagonal = {});

}  // namespace npzoo
