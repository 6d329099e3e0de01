#pragma once

#include "npzoo/engine/tensor.h"

// Helpers of predictions: arithmetic in double on the host.

namespace npzoo {

inline Tensor on_host(const Tensor& x) { return x.detach().to(Device::cpu).to(DType::float64); }

/// (B, Nt) → (B), float64 on the CPU.
Tensor sum_of_points(const Tensor& x);

}  // namespace npzoo
