#pragma once

#include "npzoo/models/prediction.h"

namespace npzoo {

/// K functions that were drawn of each task, with independent Gaussian noise at each target: latent variable models and
/// bootstraps. Each target by itself is a mixture over the functions; all of them together are of the same one.
class SampledFunctions final : public Prediction {
 public:
  /// (K, B, Nt, Dy), K ≥ 1.
  explicit SampledFunctions(Moments functions);

  Marginals marginals() const override { return {functions_.mean, functions_.std}; }
  Tensor joint_log_likelihood(const Tensor& y) const override;
  Tensor sample(std::int64_t n, Draws& draws) const override;
  /// Returns n of the K functions, each with equal probability.
  Tensor functions(std::int64_t n, Draws& draws) const override;
  DensityForms forms() const override;

 private:
  /// Which of the K functions, (n, B, 1).
  Tensor choose(std::int64_t n, Draws& draws) const;

  Moments functions_;
};

}  // namespace npzoo
