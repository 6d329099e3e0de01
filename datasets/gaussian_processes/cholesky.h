#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace npzoo {

/// Cholesky factorisation A = L Lᵀ of a symmetric positive definite matrix, row-major, in double. Samplers draw tasks
/// with it: another order of additions would change the bits of all training data. SymmetricFactor is for all else.
class Cholesky {
 public:
  /// Factorises `matrix` (n, n) in its own memory and reads only the lower triangle. Throws Error with the first pivot
  /// that is not positive.
  Cholesky(std::vector<double> matrix, std::int64_t n);

  std::int64_t size() const { return n_; }
  /// Element of L; row >= column.
  double operator()(std::int64_t row, std::int64_t column) const { return l_[row * n_ + column]; }
  /// L z: turns standard normal values into draws with covariance A. `z` and `out` have n elements and do not overlap.
  void multiply(std::span<const double> z, std::span<double> out) const;

 private:
  std::vector<double> l_;  // (n, n); above the diagonal as it was
  std::int64_t n_;
};

}  // namespace npzoo
