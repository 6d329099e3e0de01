#pragma once

#include "npzoo/engine/tensor.h"

namespace npzoo {

// log N(error; 0, Σ) of all values of a task together, in nats: −½ (errorᵀ Σ⁻¹ error + log det Σ + n log 2π).
//
// error (B, N, D) float32 or float64, computed in double either way → (B); M = N · D values in row-major order, of
// which there are n. With `lengths` (B) int64 in [0, N], on the CPU, only the first lengths(b) points count, n =
// lengths(b) · D: what belongs to others is never read and has gradient 0. n = 0 gives 0; NaN propagates to its task.

/// Σ = L Lᵀ with L = factor (B, M, M), of which only the lower triangle is read; its diagonal may have any sign. The
/// leading block of L is the factor of the leading values. Time is quadratic in M. NaN or infinite where the diagonal
/// has a 0. Saves error and factor.
Tensor cholesky_log_density(const Tensor& error, const Tensor& factor, const Tensor& lengths = {});

/// Σ = F Fᵀ + diag with F = factor (B, M, R) of any rank R ≥ 0 and diagonal (B, M), by the Woodbury identity: time is
/// M R² + R³. NaN if the diagonal is not above 0. Saves error, factor and diagonal.
Tensor low_rank_log_density(const Tensor& error, const Tensor& factor, const Tensor& diagonal,
                            const Tensor& lengths = {});

}  // namespace npzoo
