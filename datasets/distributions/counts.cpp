#include "npzoo/datasets/distributions/special_functions.h"  // before Boost.Math

#include <boost/math/special_functions/beta.hpp>
#include <boost/math/special_functions/gamma.hpp>

#include "npzoo/datasets/distributions/distribution.h"
#include "npzoo/datasets/normal_distribution.h"

namespace npzoo {

namespace {

using distribution_math::check_level;
using distribution_math::is_whole;
using distribution_math::kInfinite;
using distribution_math::Quiet;

/// Whole numbers from 0.
class Counts : public Distribution {
 public:
  std::string support(std::size_t) const override { return "a whole number from 0"; }
  bool supports(std::size_t, double y) const override { return is_whole(y); }

  double log_density(Parameters p, double y) const override {
    if (std::isnan(y)) return y;
    return is_whole(y) ? log_probability(p, y) : -kInfinite;
  }
  double cdf(Parameters p, double y) const override {
    if (std::isnan(y)) return y;
    if (y < 0) return 0;
    return y == kInfinite ? 1 : up_to(p, std::floor(y));
  }
  double below(Parameters p, double y) const override { return cdf(p, std::ceil(y) - 1); }
  double quantile(Parameters p, double level) const override;
  double crps(Parameters p, double y) const override;

 protected:
  /// Both of a whole y from 0.
  virtual double log_probability(Parameters p, double y) const = 0;
  virtual double up_to(Parameters p, double y) const = 0;
};

/// Steps of doubling size from the normal approximation's quantile, then bisection.
double Counts::quantile(Parameters p, double level) const {
  check_level(level);
  const ValueMoments m = moments(p);
  if (!std::isfinite(m.mean) || !std::isfinite(m.std)) return m.mean + m.std;
  const auto enough = [&](double y) { return y >= 0 && up_to(p, y) >= level; };
  const double start = std::max(0.0, std::floor(m.mean + m.std * normal_quantile(level)));
  double low = start, high = start;  // low is to be too small, high enough
  for (double step = 1; enough(low); step *= 2) {
    high = low;
    low -= step;
    if (low < 0) {
      low = -1;
      break;
    }
  }
  for (double step = 1; !enough(high) && step < 0x1p60; step *= 2) {
    low = high;
    high += step;
  }
  while (high - low > 1) {
    const double middle = std::floor(low + (high - low) / 2);
    if (middle <= low || middle >= high) break;
    (enough(middle) ? high : low) = middle;
  }
  return high;
}

/// The sum over k of (P(Y ≤ k) − [y ≤ k])², outside of which a probability of 1e-12 is left out on each side. Wide sums
/// take one term for each group of neighbours, the middle one.
double Counts::crps(Parameters p, double y) const {
  constexpr double kLeftOut = 1e-12, kMostTerms = 4096;
  const ValueMoments m = moments(p);
  if (std::isnan(y) || !std::isfinite(m.mean) || !std::isfinite(m.std)) return y + m.mean + m.std;
  const double first = quantile(p, kLeftOut), last = quantile(p, 1 - kLeftOut);
  double sum = std::max(0.0, y - last - 1) + std::max(0.0, first - y);  // terms of about 1 beyond the range
  if (last - first < kMostTerms) {
    double up_to_k = first > 0 ? up_to(p, first - 1) : 0;
    for (double k = first; k <= last; ++k) {
      up_to_k = std::min(1.0, up_to_k + std::exp(log_probability(p, k)));
      const double off = up_to_k - (y <= k ? 1 : 0);
      sum += off * off;
    }
    return sum;
  }
  const auto add = [&](double begin, double end, double target) {
    const double width = std::ceil((last - first) / kMostTerms);
    for (double k = begin; k < end; k += width) {
      const double own = std::min(width, end - k), off = up_to(p, k + std::floor(own / 2)) - target;
      sum += own * off * off;
    }
  };
  add(first, std::clamp(y, first, last + 1), 0);
  add(std::clamp(y, first, last + 1), last + 1, 1);
  return sum;
}

class PoissonCounts final : public Counts {
 public:
  std::string_view name() const override { return "poisson"; }
  std::size_t parameters() const override { return 1; }
  ValueMoments moments(Parameters p) const override { return {std::exp(p[0]), std::exp(p[0] / 2)}; }

 protected:
  double log_probability(Parameters p, double y) const override {
    return y * p[0] - std::exp(p[0]) - boost::math::lgamma(y + 1, Quiet());
  }
  double up_to(Parameters p, double y) const override { return boost::math::gamma_q(y + 1, std::exp(p[0]), Quiet()); }
};

class NegativeBinomial final : public Counts {
 public:
  std::string_view name() const override { return "negative-binomial"; }
  std::size_t parameters() const override { return 2; }
  ValueMoments moments(Parameters p) const override {
    const double mean = std::exp(p[0]);
    return {mean, std::sqrt(mean + mean * mean * std::exp(-p[1]))};
  }

 protected:
  double log_probability(Parameters p, double y) const override {
    const double size = std::exp(p[1]), logit = p[0] - p[1];
    const double ways = boost::math::lgamma(y + size, Quiet()) - boost::math::lgamma(size, Quiet()) -
                        boost::math::lgamma(y + 1, Quiet());
    return ways + size * distribution_math::log_not_of_logit(logit) + y * distribution_math::log_of_logit(logit);
  }
  double up_to(Parameters p, double y) const override {
    const double failure = std::exp(distribution_math::log_of_logit(p[0] - p[1]));
    return boost::math::ibetac(y + 1, std::exp(p[1]), failure, Quiet());
  }
};

}  // namespace

const Distribution& poisson_distribution() {
  static const PoissonCounts one;
  return one;
}

const Distribution& negative_binomial_distribution() {
  static const NegativeBinomial one;
  return one;
}

}  // namespace npzoo
