#pragma once

#include <memory>
#include <optional>

#include "npzoo/models/likelihoods/likelihood.h"
#include "npzoo/models/prediction.h"

namespace npzoo {

/// Predicts independent values from raw outputs (…, Nt, likelihood.outputs(Dy)): Gaussians by `gaussian_head`, or
/// distributions of the likelihood. All models with one prediction for each target end in this function.
std::unique_ptr<Prediction> output_head(const Tensor& raw, const StdForm& form, const Likelihood& likelihood);

/// Returns the least standard deviation, `floor`, if the likelihood is Gaussian.
inline std::optional<double> floor_of(const Likelihood& likelihood, double floor) {
  return likelihood.gaussian() ? std::optional(floor) : std::nullopt;
}

}  // namespace npzoo
