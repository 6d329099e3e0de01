#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "npzoo/datasets/gaussian_mixture.h"

namespace npzoo {

/// A family of distributions of one number, other than Gaussians, and their figures in double. The parameters are those
/// that networks predict: unbounded numbers wherever possible, such as the logarithm of a rate. `p` holds them:
///
///     student-t          location, scale, degrees of freedom
///     log-normal         mean and standard deviation of the logarithm
///     beta               logit of the mean, log precision: a = mean · precision, b = (1 − mean) · precision
///     poisson            log mean
///     negative-binomial  log mean, log size: variance = mean + mean² / size
///     bernoulli          logit of the probability of 1
///     categorical        a logit for each class 0, 1, …
///     zero-inflated-F    logit of the probability of an additional zero, then the parameters of F
///
/// Every function is const and may be called from several threads. NaN parameters give NaN.
class Distribution {
 public:
  using Parameters = std::span<const double>;

  virtual ~Distribution() = default;

  virtual std::string_view name() const = 0;
  /// Returns the number of parameters; 0 if it is that of the classes.
  virtual std::size_t parameters() const = 0;
  /// Describes the possible values of a distribution with so many parameters, such as "a whole number from 0".
  virtual std::string support(std::size_t count) const = 0;
  virtual bool supports(std::size_t count, double y) const = 0;

  /// Returns the log density; for whole numbers, and for the zero of a zero-inflated density, the log probability.
  /// −∞ outside the support.
  virtual double log_density(Parameters p, double y) const = 0;
  /// P(Y ≤ y).
  virtual double cdf(Parameters p, double y) const = 0;
  /// P(Y < y). Differs from `cdf` if y has a probability.
  virtual double below(Parameters p, double y) const { return cdf(p, y); }
  /// Returns the least y with P(Y ≤ y) ≥ level. Throws Error unless 0 < level < 1.
  virtual double quantile(Parameters p, double level) const = 0;
  virtual ValueMoments moments(Parameters p) const = 0;
  /// Continuous ranked probability score, E|Y − y| − E|Y − Y'| / 2, see npzoo/datasets/gaussian_mixture.h. Of classes
  /// the ranked probability score: it depends on their order.
  virtual double crps(Parameters p, double y) const = 0;
};

const Distribution& student_t_distribution();
const Distribution& log_normal_distribution();
const Distribution& beta_distribution();
const Distribution& poisson_distribution();
const Distribution& negative_binomial_distribution();
const Distribution& bernoulli_distribution();
const Distribution& categorical_distribution();
const Distribution& zero_inflated_poisson_distribution();
const Distribution& zero_inflated_negative_binomial_distribution();
const Distribution& zero_inflated_log_normal_distribution();

/// Returns all of them.
std::span<const Distribution* const> distributions();
/// Returns the one of this name; null if there is none.
const Distribution* find_distribution(std::string_view name);

/// Returns the probability of the smallest central interval that holds y: |2 u − 1| with u = P(Y ≤ y). Where y has a
/// probability, u lies at the share `inside`, from 0 to 1, between P(Y < y) and P(Y ≤ y): if shares are uniform, so is
/// u, and intervals hold as many values as they should (Czado, Gneiting and Held, "Predictive model assessment for
/// count data", Biometrics 2009).
double central_mass(const Distribution& d, Distribution::Parameters p, double y, double inside);

}  // namespace npzoo
