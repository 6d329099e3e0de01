#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "npzoo/datasets/gaussian_mixture.h"

namespace npzoo {

/// A value with limits, as a function of a number Z that a model predicts: Y = low + g(Z), and at a limit wherever that
/// leaves the limits. So a limit can have a probability of its own (a censored distribution; Tobin, Econometrica 1958).
struct ValueTransform {
  enum class Kind : std::uint8_t {
    none,  // g(z) = z − low, or z without a limit
    log,   // g(z) = exp(z); of counts, half is subtracted
    sqrt,  // g(z) = z², 0 for negative z
    logit  // g(z) = (high − low) / (1 + exp(−z))
  };

  Kind kind = Kind::none;
  double low = -std::numeric_limits<double>::infinity(), high = std::numeric_limits<double>::infinity();
  bool counts = false;  // Y is the nearest whole number

  /// False if values pass unchanged.
  bool active() const;
  /// The z of an observed value within the limits; infinite at a limit that no z reaches.
  double forward(double y) const;
  /// The value of z, within the limits.
  double inverse(double z) const;
  /// Y ≤ y if and only if Z ≤ this; infinite for none or all.
  double at_most(double y) const;
  /// Y < y if and only if Z < this (or ≤, which has the same probability).
  double below(double y) const;
  /// The name of Z for messages: "log(rain)".
  std::string scaled(const std::string& name) const;
};

// Figures of Y, given the distribution of Z as Gaussians on the linear scale, in the units of Y. By Gauss-Legendre
// quadrature between the limits, which keeps about ten digits.

ValueMoments moments(const ValueTransform& transform, const GaussianMixture& z);
/// P(Y ≤ y).
double cdf(const ValueTransform& transform, const GaussianMixture& z, double y);
/// The probability of the smallest central interval that holds y; 0 where y has more than half of it.
double central_mass(const ValueTransform& transform, const GaussianMixture& z, double y);
/// Continuous ranked probability score (see npzoo/datasets/gaussian_mixture.h).
double crps(const ValueTransform& transform, const GaussianMixture& z, double y);
/// log of the density of Y at y for one Gaussian, nats; of the probability, where y has one.
double log_density(const ValueTransform& transform, double mean, double std, double y);

}  // namespace npzoo
