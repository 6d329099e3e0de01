#pragma once

#include "npzoo/models/prediction.h"

namespace npzoo {

/// One Gaussian over all targets and channels of a task, M = Nt · Dy values in row-major order.
class JointGaussian final : public Prediction {
 public:
  /// mean (B, Nt, Dy). Without a diagonal the covariance is L Lᵀ, with the factor L (B, M, M) lower triangular, zeros
  /// above; with `diagonal` (B, M), variances above 0, it is F Fᵀ + diag, with a factor F (B, M, R) of any rank R.
  /// Throws Error for other shapes.
  JointGaussian(Tensor mean, Tensor factor, Tensor diagonal = {});

  Marginals marginals() const override;
  /// log p(y) of all targets of a task together, (B), nats: in the model's dtype, recorded where a recording is on, for
  /// training. With `lengths` (B) int64 on the CPU of the first lengths(b) targets alone. Time is quadratic in M, with
  /// a diagonal linear in it and cubic in R (the Woodbury identity).
  Tensor log_density(const Tensor& y, const Tensor& lengths = {}) const;
  /// The same in double, of all targets.
  Tensor joint_log_likelihood(const Tensor& y) const override;
  Tensor sample(std::int64_t n, Draws& draws) const override;

  const Tensor& mean() const { return mean_; }
  const Tensor& factor() const { return factor_; }
  const Tensor& diagonal() const { return diagonal_; }

 private:
  Tensor mean_, factor_, diagonal_;
};

}  // namespace npzoo
