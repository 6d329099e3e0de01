#pragma once

#include <vector>

#include "npzoo/datasets/gaussian_mixture.h"

namespace npzoo {

/// A Gaussian number plus multiples of log-normal ones that all rise with the same standard normal number u, so that
/// quantiles add up: mean + std u + Σ share exp(mean_k + std_k u). An average of quantile functions is of this form.
struct ComonotonicSum {
  struct LogNormal {
    double share = 0, mean = 0, std = 0;  // of the logarithm; share and std are 0 or more
  };
  double mean = 0, std = 0;  // of the Gaussian; std is 0 or more
  std::vector<LogNormal> parts{};

  /// The number at u.
  double at(double u) const;
  /// The u of a number: infinite for one that no u within ±40 reaches.
  double inverse(double y) const;
  ValueMoments moments() const;
  double quantile(double probability) const;
  /// Continuous ranked probability score, in units of y (see npzoo/datasets/gaussian_mixture.h).
  double crps(double y) const;
  /// Returns the same plus a number of this variance and of mean 0: the Gaussian is as wide as the variance of both
  /// asks.
  ComonotonicSum plus_variance(double variance) const;
};

}  // namespace npzoo
