#pragma once

#include <span>
#include <vector>

#include "npzoo/datasets/distributions/distribution.h"
#include "npzoo/models/prediction.h"

namespace npzoo {

/// The part of a likelihood that is recorded: how raw outputs become parameters, and the density of values.
struct LikelihoodFamily {
  const Distribution& (*distribution)();
  /// Raw outputs → parameters of `distribution`, one tensor (…, Nt, Dy) each. Families with a scale take the model's
  /// form of standard deviations for it.
  std::vector<Tensor> (*link)(std::span<const Tensor> raw, const StdForm& form);
  /// log p(y) of each value, (…, Nt, Dy). Finite for y = 0, which padding
  /// holds, even if the distribution does not support it; other impossible values may give NaN.
  Tensor (*log_density)(std::span<const Tensor> p, const Tensor& y);
};

/// Throws Error if there is none of this distribution.
const LikelihoodFamily& likelihood_family(const Distribution& distribution);

}  // namespace npzoo
