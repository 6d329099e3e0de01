#include "datasets/gaussian_mixture.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "engine/error.h"

namespace npzoo {

namespace {

double normal_density(double z) { return std::exp(-z * z / 2) / std::sqrt(2 * std::numbers::pi); }

double normal_cdf(double z) { return std::erfc(-z / std::numbers::sqrt2) / 2; }

/// CRPS of a standard normal distribution at z.
double standard_crps(double z) {
  return z * (2 * normal_cdf(z) - 1) + 2 * normal_density(z) - std::numbers::inv_sqrtpi;
}

/// E|Y| of a Gaussian.
double mean_distance(double mean, double std) {
  const double z = mean / std;
  return std > 0 ? mean * (2 * normal_cdf(z) - 1) + 2 * std * normal_density(z) : std::abs(mean);
}

/// Where the increasing function `f` reaches `level`, between two points.
template <class F>
double solve(const F& f, double level, double low, double high) {
  while (true) {
    const double middle = low + (high - low) / 2;
    if (!(low < middle && middle < high)) return middle;
    (f(middle) < level ? low : high) = middle;
  }
}

}  // namespace

ValueMoments moments(const GaussianMixture& m) {
  if (m.mean.size() == 1) return {m.mean[0], m.std[0]};
  const auto count = static_cast<double>(m.mean.size());
  double mean = 0, variance = 0;
  for (const double x : m.mean) mean += x / count;
  for (std::size_t k = 0; k < m.mean.size(); ++k)
    variance += (m.std[k] * m.std[k] + (m.mean[k] - mean) * (m.mean[k] - mean)) / count;
  return {mean, std::sqrt(variance)};
}

double cdf(const GaussianMixture& m, double y) {
  double sum = 0;
  for (std::size_t k = 0; k < m.mean.size(); ++k) sum += normal_cdf((y - m.mean[k]) / m.std[k]);
  return sum / static_cast<double>(m.mean.size());
}

double central_mass(const GaussianMixture& m, double y) {
  double sum = 0;
  for (std::size_t k = 0; k < m.mean.size(); ++k) sum += std::erf((y - m.mean[k]) / m.std[k] / std::numbers::sqrt2);
  return std::abs(sum / static_cast<double>(m.mean.size()));
}

double crps(const GaussianMixture& m, double y) {
  const auto count = static_cast<double>(m.mean.size());
  double sum = 0, spread = 0;  // of E|Y − y|, as far as each Gaussian has it by itself; of E|Y − Y'|
  for (std::size_t k = 0; k < m.mean.size(); ++k) {
    sum += m.std[k] * standard_crps((y - m.mean[k]) / m.std[k]);
    spread += (count - 1) * m.std[k] * std::numbers::inv_sqrtpi;
    for (std::size_t j = 0; j < k; ++j) spread -= mean_distance(m.mean[k] - m.mean[j], std::hypot(m.std[k], m.std[j]));
  }
  return (sum + spread / count) / count;
}

double quantile(const GaussianMixture& m, double p) {
  check(0 < p && p < 1, "[quantile] p is {}, expected above 0 and below 1", p);
  // From the tail that p is in, where probabilities keep their digits.
  const double tail = std::min(p, 1 - p), z = -solve([](double x) { return normal_cdf(x); }, tail, -40, 0);
  const double distance = p < 0.5 ? -z : z;
  double low = std::numeric_limits<double>::infinity(), high = -low;
  for (std::size_t k = 0; k < m.mean.size(); ++k) {
    const double x = m.mean[k] + distance * m.std[k];
    if (std::isnan(x)) return x;
    low = std::min(low, x);
    high = std::max(high, x);
  }
  if (m.mean.size() == 1 || low == high) return low;
  if (p < 0.5) return solve([&](double y) { return cdf(m, y); }, p, low, high);
  const auto above = [&](double y) {
    double sum = 0;
    for (std::size_t k = 0; k < m.mean.size(); ++k) sum += normal_cdf((m.mean[k] - y) / m.std[k]);
    return -sum / static_cast<double>(m.mean.size());
  };
  return solve(above, p - 1, low, high);
}

}  // namespace npzoo
