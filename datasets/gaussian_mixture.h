#pragma once

#include <span>

namespace npzoo {

/// A distribution of one number: Gaussians that are all as likely, at least one. Whoever makes it keeps the numbers.
struct GaussianMixture {
  std::span<const double> mean, std;
};

struct ValueMoments {
  double mean, std;
};

ValueMoments moments(const GaussianMixture& mixture);
/// P(Y ≤ y).
double cdf(const GaussianMixture& mixture, double y);
/// |2 P(Y ≤ y) − 1|, the probability of the smallest central interval that holds y.
double central_mass(const GaussianMixture& mixture, double y);
/// Continuous ranked probability score, in units of y (Gneiting and Raftery, JASA 2007, equation 21); of a mixture in
/// the closed form of Grimit, Gneiting, Berrocal and Johnson, "The continuous ranked probability score for circular
/// variables and its application to mesoscale forecast ensemble verification", 2006, equation 5. Time is quadratic in
/// the Gaussians.
double crps(const GaussianMixture& mixture, double y);
/// The y with P(Y ≤ y) = p, to rounding; NaN where a parameter is. Throws Error unless 0 < p < 1.
double quantile(const GaussianMixture& mixture, double p);

}  // namespace npzoo
