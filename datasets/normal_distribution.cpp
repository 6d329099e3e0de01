#include "npzoo/datasets/normal_distribution.h"

#include "npzoo/datasets/boost_math.h"  // before Boost.Math

#include <boost/math/special_functions/erf.hpp>
#include <boost/math/tools/fraction.hpp>
#include <cmath>
#include <limits>
#include <numbers>
#include <utility>

namespace npzoo {

namespace {

constexpr double kFarTail = -8;  // erfc has few digits left below it

double unit_log_density(double z) { return -0.5 * z * z - 0.5 * std::log(2 * std::numbers::pi); }

/// Laplace's continued fraction f = 1 / (t + 2 / (t + 3 / (t + …))) for t > 0, with Φ(−t) = φ(t) / (t + f).
double tail_fraction(double t) {
  struct Terms {
    using result_type = std::pair<double, double>;
    double t, k = 0;
    result_type operator()() { return {++k, t}; }
  } terms{t};
  return boost::math::tools::continued_fraction_a(terms, std::numeric_limits<double>::epsilon());
}

}  // namespace

double normal_probability(double z) { return std::erfc(-z / std::numbers::sqrt2) / 2; }

double log_normal_probability(double z) {
  return z < kFarTail ? unit_log_density(z) - std::log(-z + tail_fraction(-z)) : std::log(normal_probability(z));
}

double log_improvement(double z) {
  const double log_density = unit_log_density(z);
  if (z >= -1) return std::log(std::exp(log_density) + z * normal_probability(z));
  if (z >= kFarTail) return log_density + std::log1p(z * normal_probability(z) / std::exp(log_density));
  const double f = tail_fraction(-z);  // 1 + z Φ(z) / φ(z) = f / (f − z)
  return log_density + std::log(f / (f - z));
}

double normal_quantile(double p) {
  using namespace boost::math::policies;
  return -std::numbers::sqrt2 *
         boost::math::erfc_inv(2 * p, policy<domain_error<ignore_error>, overflow_error<ignore_error>>());
}

}  // namespace npzoo
