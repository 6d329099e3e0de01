#pragma once

#include "npzoo/models/prediction.h"

namespace npzoo {

/// Independent Gaussians, one for each channel of each target.
class Independent final : public Prediction {
 public:
  /// `forms`: where the Gaussians are of functions that were drawn, how many.
  explicit Independent(Moments gaussians, DensityForms forms = {})
      : gaussians_(std::move(gaussians)), forms_(std::move(forms)) {}

  Marginals marginals() const override;
  Tensor log_likelihood(const Tensor& y) const override;
  Tensor joint_log_likelihood(const Tensor& y) const override;
  Tensor sample(std::int64_t n, Draws& draws) const override;
  DensityForms forms() const override { return forms_; }

 private:
  Moments gaussians_;
  DensityForms forms_;
};

}  // namespace npzoo
