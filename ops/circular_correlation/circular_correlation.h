#pragma once

#include <cstdint>

#include "npzoo/engine/tensor.h"

namespace npzoo {

/// How circular sums are computed: by products of matrices, whose time and memory grow as L², or by Fourier
/// transforms, as L log L.
enum class CircularMethod : std::uint8_t { automatic, products, fourier };

/// Returns the method that `automatic` stands for, for series of `length` steps on that device: the faster one, on the
/// host as measured (perf/NOTES.md).
CircularMethod circular_method(std::int64_t length, Device device);

/// Circular correlation, summed over channels: out(b, τ) = Σ over t and c of q(b, t + τ, c) · k(b, t, c), positions
/// modulo L.
///
/// q and k (B, L, E), one dtype, float32 or float64 → (B, L). Any length; empty extents are legal. By transforms,
/// rounding is relative to a task's largest elements, and NaN anywhere in a task makes all of it NaN. Saves q and k.
/// Throws Error if shapes or dtypes differ.
Tensor circular_correlation(const Tensor& q, const Tensor& k, CircularMethod method = CircularMethod::automatic);

/// Values moved by all delays, added up with weights: out(b, t, c) = Σ over τ of weights(b, τ) · values(b, t + τ, c),
/// positions modulo L.
///
/// weights (B, L) and values (B, L, E), one dtype, float32 or float64 → (B, L, E). Otherwise as
/// `circular_correlation`, but that NaN among values spreads to one or two channels of its task. Saves both; by
/// products, the weights as a matrix (B, L, L).
Tensor delayed_sum(const Tensor& weights, const Tensor& values, CircularMethod method = CircularMethod::automatic);

}  // namespace npzoo
