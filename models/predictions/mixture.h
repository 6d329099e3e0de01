#pragma once

#include "npzoo/models/prediction.h"

namespace npzoo {

/// A mixture of K Gaussians at each target, independent of that at any other; the channels of a target are of the same
/// one of the K.
class Mixture final : public Prediction {
 public:
  /// Means and deviations (K, B, Nt, Dy), and the logarithms of weights (K, B, Nt). Throws Error for other shapes, and
  /// for a logarithmic scale or labels.
  explicit Mixture(Marginals components);

  Marginals marginals() const override { return components_; }
  Tensor joint_log_likelihood(const Tensor& y) const override;
  Tensor sample(std::int64_t n, Draws& draws) const override;

 private:
  Marginals components_;
};

}  // namespace npzoo
