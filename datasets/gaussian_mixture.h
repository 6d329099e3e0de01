#pragma once

#include <cstdint>
#include <span>

namespace npzoo {

/// Whether a Gaussian describes a number, or its logarithm: the number is then log-normal.
enum class Scale : std::uint8_t { linear, logarithmic };

/// A distribution of one number: Gaussians on a scale, at least one. Whoever makes it keeps the numbers.
struct GaussianMixture {
  std::span<const double> mean, std;  // of the number, or of its logarithm
  /// Weights of the Gaussians, 0 or more; they need not sum to 1. Empty: equal weights.
  std::span<const double> weight{};
  Scale scale = Scale::linear;
};

/// Moments of the number, on either scale.
struct ValueMoments {
  double mean, std;
};

/// Returns the place of y on a scale: −infinity for a number without a logarithm, and NaN for NaN.
double on_scale(Scale scale, double y);

// All of the number itself. On the logarithmic scale nothing is at 0 or below.

/// By the law of total variance.
ValueMoments moments(const GaussianMixture& mixture);
/// P(Y ≤ y).
double cdf(const GaussianMixture& mixture, double y);
/// |2 P(Y ≤ y) − 1|, the probability of the smallest central interval that holds y.
double central_mass(const GaussianMixture& mixture, double y);
/// Continuous ranked probability score, in units of y: E|Y − y| − E|Y − Y'| / 2 (Gneiting and Raftery, JASA 2007,
/// equation 21), in closed form. Of Gaussians see Grimit, Gneiting, Berrocal and Johnson, "The continuous ranked
/// probability score for circular variables and its application to mesoscale forecast ensemble verification", 2006,
/// equation 5; of one log-normal distribution Baran and Lerch, "Log-normal distribution based ensemble model output
/// statistics models for probabilistic wind-speed forecasting", 2015. Time is quadratic in the Gaussians.
double crps(const GaussianMixture& mixture, double y);
/// The y with P(Y ≤ y) = p, to rounding; NaN if a parameter is. Throws Error unless 0 < p < 1.
double quantile(const GaussianMixture& mixture, double p);

}  // namespace npzoo
