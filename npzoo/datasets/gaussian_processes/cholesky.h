#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace npzoo {

/// Cholesky factorisation A = L Lᵀ of a symmetric positive definite matrix, in double.
/// Matrices are row-major; right-hand sides B are (n, m), one column each.
class Cholesky {
 public:
  /// Factorises `matrix` (n, n) in its own memory; only the lower triangle is read. Throws Error naming the first pivot
  /// that is not positive.
  Cholesky(std::vector<double> matrix, std::int64_t n);

  std::int64_t size() const { return n_; }
  /// Element of L; row >= column.
  double operator()(std::int64_t row, std::int64_t column) const { return l_[row * n_ + column]; }
  /// B ← L⁻¹ B.
  void solve_lower(std::span<double> b) const;
  /// L z: turns standard normal values into draws with covariance A. `z` and `out` have n elements and do not overlap.
  void multiply(std::span<const double> z, std::span<double> out) const;
  /// log det A.
  double log_determinant() const;

 private:
  std::vector<double> l_;  // (n, n); what lies above the diagonal is left as it was
  std::int64_t n_;
};

}  // namespace npzoo
