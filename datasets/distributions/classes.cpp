#include <fmt/format.h>
#include <algorithm>

#include "npzoo/datasets/distributions/distribution.h"
#include "npzoo/datasets/distributions/special_functions.h"
#include "npzoo/datasets/gaussian_processes/log_sum.h"

namespace npzoo {

namespace {

using distribution_math::check_level;
using distribution_math::is_whole;
using distribution_math::kInfinite;

class BernoulliEvent final : public Distribution {
 public:
  std::string_view name() const override { return "bernoulli"; }
  std::size_t parameters() const override { return 1; }
  std::string support(std::size_t) const override { return "0 or 1"; }
  bool supports(std::size_t, double y) const override { return y == 0 || y == 1; }

  double log_density(Parameters p, double y) const override {
    if (y == 1) return distribution_math::log_of_logit(p[0]);
    if (y == 0) return distribution_math::log_not_of_logit(p[0]);
    return std::isnan(y) ? y : -kInfinite;
  }
  double cdf(Parameters p, double y) const override {
    if (std::isnan(y)) return y;
    return y < 0 ? 0 : y < 1 ? std::exp(distribution_math::log_not_of_logit(p[0])) : 1;
  }
  double below(Parameters p, double y) const override { return cdf(p, std::ceil(y) - 1); }
  double quantile(Parameters p, double level) const override {
    check_level(level);
    return std::isnan(p[0]) ? p[0] : cdf(p, 0) >= level ? 0 : 1;
  }
  ValueMoments moments(Parameters p) const override {
    const double log_one = distribution_math::log_of_logit(p[0]), log_zero = distribution_math::log_not_of_logit(p[0]);
    return {std::exp(log_one), std::exp((log_one + log_zero) / 2)};
  }
  double crps(Parameters p, double y) const override {
    const double off = std::exp(distribution_math::log_of_logit(p[0])) - y;
    return off * off;
  }
};

class Categories final : public Distribution {
 public:
  std::string_view name() const override { return "categorical"; }
  std::size_t parameters() const override { return 0; }
  std::string support(std::size_t count) const override {
    return fmt::format("a whole number from 0 to {}, the number of a class", count - 1);
  }
  bool supports(std::size_t count, double y) const override { return is_whole(y) && y < static_cast<double>(count); }

  double log_density(Parameters p, double y) const override {
    if (!supports(p.size(), y)) return std::isnan(y) ? y : -kInfinite;
    return p[static_cast<std::size_t>(y)] - log_total(p);
  }
  double cdf(Parameters p, double y) const override {
    if (std::isnan(y)) return y;
    const double total = log_total(p);
    double sum = 0;
    for (std::size_t k = 0; k < p.size() && static_cast<double>(k) <= y; ++k) sum += std::exp(p[k] - total);
    return y >= static_cast<double>(p.size() - 1) && !std::isnan(sum) ? 1 : std::min(sum, 1.0);
  }
  double below(Parameters p, double y) const override { return cdf(p, std::ceil(y) - 1); }
  double quantile(Parameters p, double level) const override {
    check_level(level);
    const double total = log_total(p);
    double sum = 0;
    for (std::size_t k = 0; k + 1 < p.size(); ++k)
      if ((sum += std::exp(p[k] - total)) >= level) return static_cast<double>(k);
    return std::isnan(total) ? total : static_cast<double>(p.size() - 1);
  }
  ValueMoments moments(Parameters p) const override {
    const double total = log_total(p);
    double mean = 0, square = 0;
    for (std::size_t k = 0; k < p.size(); ++k) {
      const double each = std::exp(p[k] - total), value = static_cast<double>(k);
      mean += each * value;
      square += each * value * value;
    }
    return {mean, std::sqrt(std::max(0.0, square - mean * mean))};
  }
  double crps(Parameters p, double y) const override {
    double sum = 0;
    for (std::size_t k = 0; k + 1 < p.size(); ++k) {
      const double off = cdf(p, static_cast<double>(k)) - (y <= static_cast<double>(k) ? 1 : 0);
      sum += off * off;
    }
    return sum;
  }

 private:
  static double log_total(Parameters p) {
    LogSum total;
    for (const double logit : p) total.add(logit);
    return total.value();
  }
};

}  // namespace

const Distribution& bernoulli_distribution() {
  static const BernoulliEvent one;
  return one;
}

const Distribution& categorical_distribution() {
  static const Categories one;
  return one;
}

}  // namespace npzoo
