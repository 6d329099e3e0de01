#pragma once

#include "engine/draws.h"
#include "engine/tensor.h"

// What mixtures of components at each target share.

namespace npzoo {

/// (B, Nt, K) → (K, B, Nt). Recorded where a recording is on.
Tensor components_first(const Tensor& x);

/// Uniform on [0, 1), (n, B, Nt); float64 on the CPU.
Tensor uniform(std::int64_t n, std::int64_t tasks, std::int64_t targets, Draws& draws);

/// Which of classes comes for u, uniform on [0, 1); never one of probability 0.
std::size_t choose(std::span<const double> log_probability, double u);

}  // namespace npzoo
