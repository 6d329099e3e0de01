#pragma once

#include <vector>

#include "npzoo/models/likelihoods/families.h"
#include "npzoo/models/prediction.h"

namespace npzoo {

/// Independent values of a family other than Gaussians, one for each channel of each target.
class Distributed final : public Prediction {
 public:
  /// The parameters of the family, (B, Nt, Dy) each.
  Distributed(const LikelihoodFamily& family, std::vector<Tensor> parameters)
      : family_(family), parameters_(std::move(parameters)) {}

  /// Mean and standard deviation are not recorded.
  Marginals marginals() const override;
  Tensor log_likelihood(const Tensor& y) const override;
  Tensor joint_log_likelihood(const Tensor& y) const override;
  Tensor sample(std::int64_t n, Draws& draws) const override;

 private:
  const LikelihoodFamily& family_;
  std::vector<Tensor> parameters_;
};

}  // namespace npzoo
