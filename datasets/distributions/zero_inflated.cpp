#include "npzoo/datasets/distributions/distribution.h"
#include "npzoo/datasets/distributions/special_functions.h"

namespace npzoo {

namespace {

using distribution_math::check_level;

/// 0 with a probability of its own, else a number of a distribution from 0 on (Lambert, "Zero-inflated Poisson
/// regression", Technometrics 1992).
class ZeroInflated final : public Distribution {
 public:
  /// `counts`: 0 is a possible value of the distribution as well.
  ZeroInflated(const Distribution& base, std::string name, bool counts)
      : base_(base), name_(std::move(name)), counts_(counts) {}

  std::string_view name() const override { return name_; }
  std::size_t parameters() const override { return base_.parameters() + 1; }
  std::string support(std::size_t count) const override {
    return counts_ ? base_.support(count - 1) : "0 or a number above 0";
  }
  bool supports(std::size_t count, double y) const override { return y == 0 || base_.supports(count - 1, y); }

  double log_density(Parameters p, double y) const override {
    const double log_zero = distribution_math::log_of_logit(p[0]),
                 log_other = distribution_math::log_not_of_logit(p[0]);
    if (y != 0) return log_other + base_.log_density(rest(p), y);
    if (!counts_) return log_zero;
    const double other = log_other + base_.log_density(rest(p), 0);
    return other + distribution_math::log_one_plus_exp(log_zero - other);
  }
  double cdf(Parameters p, double y) const override {
    if (std::isnan(y)) return y;
    const double zero = zeros(p);
    return y < 0 ? 0 : zero + (1 - zero) * base_.cdf(rest(p), y);
  }
  double below(Parameters p, double y) const override {
    if (std::isnan(y)) return y;
    const double zero = zeros(p);
    return y <= 0 ? 0 : zero + (1 - zero) * base_.below(rest(p), y);
  }
  double quantile(Parameters p, double level) const override {
    check_level(level);
    const double zero = zeros(p);
    if (std::isnan(zero)) return zero;
    const double left = (level - zero) / (1 - zero);
    return !(left > 0) ? 0 : base_.quantile(rest(p), std::min(left, 1 - 1e-16));
  }
  ValueMoments moments(Parameters p) const override {
    const double zero = zeros(p);
    const ValueMoments m = base_.moments(rest(p));
    return {(1 - zero) * m.mean, std::sqrt((1 - zero) * (m.std * m.std + zero * m.mean * m.mean))};
  }
  /// E|Y − y| − E|Y − Y'| / 2 by cases: half of E|X − X'| of the other numbers X is their mean less their CRPS at 0.
  double crps(Parameters p, double y) const override {
    const double zero = zeros(p), other = 1 - zero, mean = base_.moments(rest(p)).mean;
    const double half_distance = mean - base_.crps(rest(p), 0);
    return zero * std::abs(y) + other * (base_.crps(rest(p), y) + half_distance) - zero * other * mean -
           other * other * half_distance;
  }

 private:
  static Parameters rest(Parameters p) { return p.subspan(1); }
  static double zeros(Parameters p) { return std::exp(distribution_math::log_of_logit(p[0])); }

  const Distribution& base_;
  std::string name_;
  bool counts_;
};

}  // namespace

const Distribution& zero_inflated_poisson_distribution() {
  static const ZeroInflated one(poisson_distribution(), "zero-inflated-poisson", true);
  return one;
}

const Distribution& zero_inflated_negative_binomial_distribution() {
  static const ZeroInflated one(negative_binomial_distribution(), "zero-inflated-negative-binomial", true);
  return one;
}

const Distribution& zero_inflated_log_normal_distribution() {
  static const ZeroInflated one(log_normal_distribution(), "zero-inflated-log-normal", false);
  return one;
}

}  // namespace npzoo
