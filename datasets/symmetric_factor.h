#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace npzoo {

/// Cholesky factorisation A = L Lᵀ of a symmetric positive definite matrix, in double, by Eigen. For oracles and
/// surrogates. Samplers use Cholesky instead, because training data must keep its bits.
///
/// Matrices are row-major; right-hand sides B are (n, m), one column each. Long work looks at the caller's stop token.
class SymmetricFactor {
 public:
  /// Factorises `matrix` (n, n) in its own memory and reads only the lower triangle. Throws Error with the first pivot
  /// that is not positive.
  SymmetricFactor(std::vector<double> matrix, std::int64_t n);

  std::int64_t size() const { return n_; }
  /// B ← L⁻¹ B.
  void solve_lower(std::span<double> b) const;
  /// B ← L⁻ᵀ B.
  void solve_upper(std::span<double> b) const;
  /// L z: turns standard normal values into draws with covariance A. `z` and the result have n elements.
  std::vector<double> multiply(std::span<const double> z) const;
  /// A⁻¹, (n, n).
  std::vector<double> inverse() const;
  /// log det A.
  double log_determinant() const;

 private:
  std::int64_t columns(std::span<const double> b) const;

  std::vector<double> l_;  // (n, n); above the diagonal as it was
  std::int64_t n_;
};

/// A ← A − Vᵀ V for A (m, m) and V (n, m), in the lower triangle only.
void subtract_square(std::span<double> a, std::int64_t m, std::span<const double> v);

}  // namespace npzoo
