#pragma once

#include "npzoo/engine/tensor.h"

namespace npzoo {

struct PoolConfig {
  std::int64_t width = 2, stride = 2;
  std::int64_t padding = 0;  // at both ends, less than `width`: nothing there counts
};

/// Largest of each window of a series: y(b, i, c) = max over 0 ≤ j < width of x(b, stride i + j − padding, c), where
/// that is a step of the series.
///
/// x (B, L, C) float32 or float64 → (B, (L + 2 padding − width) / stride + 1, C), rounded down, or no steps where the
/// series is shorter than a window. The gradient goes to the first of equals. NaN is the largest. Saves x. Throws Error
/// where width or stride is less than 1, or padding not in [0, width / 2].
Tensor max_pool(const Tensor& x, const PoolConfig& config);

}  // namespace npzoo
