#pragma once

#include "npzoo/engine/tensor.h"

namespace npzoo {

/// Sines, then cosines, of π 2^(k − 2) x, k = 0 … width / 2 − 1, for each coordinate x (Abu Hamad and Rosenbaum, "Flow
/// matching neural processes", NeurIPS 2025). Computed in double.
///
/// x (…, D), float32 or float64 → (…, D · width), the coordinates one after the other; `width` is even. NaN and
/// infinities give NaN. Inputs are data: nothing is recorded.
Tensor fourier_code(const Tensor& x, std::int64_t width);

}  // namespace npzoo
