#include "npzoo/datasets/gaussian_mixture.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>

#include "npzoo/datasets/normal_distribution.h"
#include "npzoo/engine/error.h"

namespace npzoo {

namespace {

double normal_density(double z) { return std::exp(-z * z / 2) / std::sqrt(2 * std::numbers::pi); }

/// CRPS of a standard normal distribution at z.
double standard_crps(double z) {
  return z * (2 * normal_probability(z) - 1) + 2 * normal_density(z) - std::numbers::inv_sqrtpi;
}

/// E|Y| of a Gaussian.
double mean_distance(double mean, double std) {
  const double z = mean / std;
  return std > 0 ? mean * (2 * normal_probability(z) - 1) + 2 * std * normal_density(z) : std::abs(mean);
}

/// Finds the point between two points at which the increasing function `f` reaches `level`.
template <class F>
double solve(const F& f, double level, double low, double high) {
  while (true) {
    const double middle = low + (high - low) / 2;
    if (!(low < middle && middle < high)) return middle;
    (f(middle) < level ? low : high) = middle;
  }
}

double weight(const GaussianMixture& m, std::size_t k) { return m.weight.empty() ? 1 : m.weight[k]; }

double total_weight(const GaussianMixture& m) {
  return m.weight.empty() ? static_cast<double>(m.mean.size()) : std::accumulate(m.weight.begin(), m.weight.end(), 0.0);
}

/// Returns the moments of one component on the scale of the number.
ValueMoments moments_of_one(const GaussianMixture& m, std::size_t k) {
  if (m.scale == Scale::linear) return {m.mean[k], m.std[k]};
  const double variance = m.std[k] * m.std[k], mean = std::exp(m.mean[k] + variance / 2);
  return {mean, mean * std::sqrt(std::expm1(variance))};
}

// Probabilities of the Gaussians at x, a place on their scale: P(X ≤ x), and P(X > x) with the digits that 1 − P(X ≤ x)
// lacks.

double gaussian_cdf(const GaussianMixture& m, double x) {
  double sum = 0;
  for (std::size_t k = 0; k < m.mean.size(); ++k) sum += weight(m, k) * normal_probability((x - m.mean[k]) / m.std[k]);
  return sum / total_weight(m);
}

double gaussian_survival(const GaussianMixture& m, double x) {
  double sum = 0;
  for (std::size_t k = 0; k < m.mean.size(); ++k) sum += weight(m, k) * normal_probability((m.mean[k] - x) / m.std[k]);
  return sum / total_weight(m);
}

double gaussian_crps(const GaussianMixture& m, double y) {
  const double total = total_weight(m);
  double sum = 0, spread = 0;  // of E|Y − y|, as far as each Gaussian has it by itself; of E|Y − Y'|
  for (std::size_t k = 0; k < m.mean.size(); ++k) {
    const double w = weight(m, k);
    sum += w * m.std[k] * standard_crps((y - m.mean[k]) / m.std[k]);
    spread += w * (total - w) * m.std[k] * std::numbers::inv_sqrtpi;
    for (std::size_t j = 0; j < k; ++j)
      spread -= w * weight(m, j) * mean_distance(m.mean[k] - m.mean[j], std::hypot(m.std[k], m.std[j]));
  }
  return (sum + spread / total) / total;
}

/// With E[Y; Y > c] = E[Y] Φ((mean + variance − log c) / std) for one log-normal Y, and likewise with another one in
/// the place of c, both expectations have a term E[Y], and these cancel out; what is left has no large numbers to
/// subtract.
double log_normal_crps(const GaussianMixture& m, double y) {
  const double total = total_weight(m), place = on_scale(m.scale, y);
  double sum = 0;
  for (std::size_t k = 0; k < m.mean.size(); ++k) {
    if (weight(m, k) == 0) continue;  // of no matter how large a mean
    const double variance = m.std[k] * m.std[k], z = (place - m.mean[k]) / m.std[k];
    double larger = 0;  // P(Y' > Y) if Y of this Gaussian were as likely as it is large
    for (std::size_t j = 0; j < m.mean.size(); ++j)
      larger += weight(m, j) / total *
                normal_probability((m.mean[j] - m.mean[k] - variance) / std::hypot(m.std[k], m.std[j]));
    sum += weight(m, k) * (y * (2 * normal_probability(z) - 1) +
                           2 * std::exp(m.mean[k] + variance / 2) * (larger - normal_probability(z - m.std[k])));
  }
  return sum / total;
}

/// Returns a quantile of the Gaussians, on their scale.
double gaussian_quantile(const GaussianMixture& m, double p) {
  // From the tail that p is in, where probabilities keep their digits.
  const double distance = p < 0.5 ? normal_quantile(p) : -normal_quantile(1 - p);
  double low = std::numeric_limits<double>::infinity(), high = -low;
  for (std::size_t k = 0; k < m.mean.size(); ++k) {
    if (weight(m, k) == 0) continue;
    const double x = m.mean[k] + distance * m.std[k];
    if (std::isnan(x)) return x;
    low = std::min(low, x);
    high = std::max(high, x);
  }
  if (!(total_weight(m) > 0)) return std::numeric_limits<double>::quiet_NaN();
  if (m.mean.size() == 1 || low == high) return low;
  if (p < 0.5) return solve([&](double x) { return gaussian_cdf(m, x); }, p, low, high);
  return solve([&](double x) { return -gaussian_survival(m, x); }, p - 1, low, high);
}

}  // namespace

double on_scale(Scale scale, double y) {
  if (scale == Scale::linear) return y;
  return y <= 0 ? -std::numeric_limits<double>::infinity() : std::log(y);
}

ValueMoments moments(const GaussianMixture& m) {
  if (m.mean.size() == 1) return moments_of_one(m, 0);
  const double total = total_weight(m);
  double mean = 0, variance = 0;
  for (std::size_t k = 0; k < m.mean.size(); ++k)
    if (weight(m, k) != 0) mean += weight(m, k) * moments_of_one(m, k).mean / total;
  for (std::size_t k = 0; k < m.mean.size(); ++k) {
    if (weight(m, k) == 0) continue;
    const ValueMoments one = moments_of_one(m, k);
    variance += weight(m, k) * (one.std * one.std + (one.mean - mean) * (one.mean - mean)) / total;
  }
  return {mean, std::sqrt(variance)};
}

double cdf(const GaussianMixture& m, double y) { return gaussian_cdf(m, on_scale(m.scale, y)); }

double central_mass(const GaussianMixture& m, double y) {
  const double x = on_scale(m.scale, y);
  double sum = 0;
  for (std::size_t k = 0; k < m.mean.size(); ++k)
    sum += weight(m, k) * std::erf((x - m.mean[k]) / m.std[k] / std::numbers::sqrt2);
  return std::abs(sum / total_weight(m));
}

double crps(const GaussianMixture& m, double y) {
  return m.scale == Scale::linear ? gaussian_crps(m, y) : log_normal_crps(m, y);
}

double quantile(const GaussianMixture& m, double p) {
  check(0 < p && p < 1, "[quantile] p is {}, expected above 0 and below 1", p);
  const double x = gaussian_quantile(m, p);
  return m.scale == Scale::linear ? x : std::exp(x);
}

}  // namespace npzoo
