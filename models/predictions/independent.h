#pragma once

#include "models/prediction.h"

namespace npzoo {

/// Independent Gaussians, one for each channel of each target.
class Independent final : public Prediction {
 public:
  explicit Independent(Moments gaussians) : gaussians_(std::move(gaussians)) {}

  Marginals marginals() const override;
  Tensor log_likelihood(const Tensor& y) const override;
  Tensor joint_log_likelihood(const Tensor& y) const override;
  Tensor sample(std::int64_t n, Draws& draws) const override;

 private:
  Moments gaussians_;
};

}  // namespace npzoo
