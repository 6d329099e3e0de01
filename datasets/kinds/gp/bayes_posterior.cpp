#include "npzoo/datasets/kinds/gp/bayes_posterior.h"

#include "npzoo/datasets/boost_math.h"  // before Boost.Math

#include <algorithm>
#include <boost/math/special_functions/gamma.hpp>
#include <cmath>

#include "npzoo/datasets/gaussian_processes/log_sum.h"
#include "npzoo/datasets/gaussian_processes/quadrature.h"
#include "npzoo/datasets/scores.h"
#include "npzoo/engine/error.h"

namespace npzoo {

namespace {

constexpr double kMaxPanels = 10'000;
// How finely kernels near the known one are looked at.
constexpr double kCyclesOfPeak = 0.01;  // periods
constexpr double kWidthOfPeak = 0.25;   // other sides

constexpr double kShortest = 0.1, kLongest = 1;  // periods of a beta prior that panels are made for

double log_gamma(double x) { return boost::math::lgamma(x); }

/// One hyper-parameter that is not constant, as a coordinate u from 0 to 1.
struct Side {
  Prior prior;
  double Kernel::*member;

  bool is_period() const { return member == &Kernel::period; }
  bool inverse() const { return is_period() && prior.kind == Prior::Kind::uniform; }
  bool logarithmic() const { return prior.kind == Prior::Kind::log_uniform; }

  double value(double u) const {
    if (prior.kind == Prior::Kind::beta) return u;
    if (logarithmic()) return prior.a * std::pow(prior.b / prior.a, u);
    if (inverse()) return 1 / (1 / prior.b + u * (1 / prior.a - 1 / prior.b));
    return prior.a + u * (prior.b - prior.a);
  }

  double coordinate(double value) const {
    if (prior.kind == Prior::Kind::beta) return value;
    if (logarithmic()) return std::log(value / prior.a) / std::log(prior.b / prior.a);
    if (inverse()) return (1 / value - 1 / prior.b) / (1 / prior.a - 1 / prior.b);
    return (value - prior.a) / (prior.b - prior.a);
  }

  /// Returns the logarithm of the density at u.
  double log_density(double u) const {
    const double a = prior.a, b = prior.b;
    if (prior.kind == Prior::Kind::beta)
      return log_gamma(a + b) - log_gamma(a) - log_gamma(b) + (a - 1) * std::log(u) + (b - 1) * std::log1p(-u);
    return inverse() ? std::log(value(u) * value(u) / (a * b)) : 0;
  }

  /// How many cycles more the shortest period makes than the longest, over a distance.
  double cycles(double distance) const {
    const bool beta = prior.kind == Prior::Kind::beta;
    return distance / (beta ? kShortest : prior.a) - distance / (beta ? kLongest : prior.b);
  }
};

/// The kernels of one kind as points of the unit cube.
class Coordinates {
 public:
  Coordinates(const KernelPrior& prior, double nugget) : kernel_{.kind = prior.kind, .nugget = nugget} {
    add(prior.lengthscale, &Kernel::lengthscale);
    add(prior.scale, &Kernel::scale);
    if (has_period(prior.kind)) add(prior.period, &Kernel::period);
    if (prior.kind == KernelKind::rbf_mixture) add(prior.second_lengthscale, &Kernel::second_lengthscale);
  }

  Kernel kernel(std::span<const double> u) const {
    Kernel kernel = kernel_;
    for (std::size_t k = 0; k < sides_.size(); ++k) kernel.*sides_[k].member = sides_[k].value(u[k]);
    return kernel;
  }

  /// Returns the logarithm of the prior density at u.
  double log_density(std::span<const double> u) const {
    double sum = 0;
    for (std::size_t k = 0; k < sides_.size(); ++k) sum += sides_[k].log_density(u[k]);
    return sum;
  }

  /// For functions on a domain of that diameter.
  QuadratureRule rule(const BayesOptions& options, double diameter, const std::optional<Kernel>& drawn_with) const {
    QuadratureRule rule{.nodes = options.nodes, .tolerance = options.tolerance};
    const bool peak = drawn_with && drawn_with->kind == kernel_.kind;
    for (const Side& side : sides_) {
      const double cycles = side.is_period() ? side.cycles(diameter) : 0;
      const double panels = std::ceil(std::clamp(cycles / options.cycles, 1.0, kMaxPanels));
      rule.panels.push_back(static_cast<std::int64_t>(panels));
      if (!peak) continue;
      rule.peak.push_back(side.coordinate(*drawn_with.*side.member));
      rule.peak_width.push_back(side.is_period() ? kCyclesOfPeak / cycles : kWidthOfPeak);
    }
    return rule;
  }

 private:
  void add(const Prior& prior, double Kernel::*member) {
    if (prior.kind == Prior::Kind::constant)
      kernel_.*member = prior.a;
    else
      sides_.push_back({prior, member});
  }

  Kernel kernel_;
  std::vector<Side> sides_;
};

/// Moments of a mixture, whose parts come one by one; their weights sum to 1.
class MixtureMoments {
 public:
  void add(double weight, double mean, double variance) {  // West
    weight_ += weight;
    const double delta = mean - mean_;
    mean_ += delta * weight / weight_;
    variance_ += weight * (variance + delta * (mean - mean_));
  }
  double mean() const { return mean_; }
  double variance() const { return variance_; }

 private:
  double weight_ = 0, mean_ = 0, variance_ = 0;
};

}  // namespace

BayesPosterior::BayesPosterior(const GpDistribution& d, Inputs xc, std::span<const double> yc,
                               const BayesOptions& options, const std::optional<Kernel>& drawn_with)
    : xc_(xc.values.begin(), xc.values.end()),
      yc_(yc.begin(), yc.end()),
      dims_(xc.dims),
      context_noise_(d.context_noise),
      target_noise_(d.target_noise) {
  const double diameter = (d.high - d.low) * std::sqrt(static_cast<double>(d.dims));
  LogSum total;
  for (const KernelPrior& prior : d.kernels) {
    const Coordinates coordinates(prior, d.jitter);
    const auto log_density = [&](std::span<const double> u) {
      const GpPosterior posterior(coordinates.kernel(u), xc, yc, context_noise_);
      return coordinates.log_density(u) + posterior.log_evidence();
    };
    for (const auto& node : adaptive_quadrature(log_density, coordinates.rule(options, diameter, drawn_with))) {
      kernels_.push_back({coordinates.kernel(node.at), node.log_weight});
      total.add(node.log_weight);
    }
  }
  for (WeightedKernel& k : kernels_) k.log_weight -= total.value();
}

BayesPredictions BayesPosterior::predict(Inputs xt, std::span<const double> yt) const {
  check(xt.size() == std::ssize(yt), "[bayes posterior] {} inputs and {} values, expected equal", xt.size(), yt.size());
  const std::size_t nt = yt.size();
  std::vector<MixtureMoments> moments(nt);
  std::vector<LogSum> mixture(nt);
  LogSum joint;
  for (const auto& [kernel, log_weight] : kernels_) {
    const GpPosterior posterior(kernel, {xc_, dims_}, yc_, context_noise_);
    const auto [mean, variance] = posterior.marginals(xt, target_noise_);
    for (std::size_t t = 0; t < nt; ++t) {
      moments[t].add(std::exp(log_weight), mean[t], variance[t]);
      mixture[t].add(log_weight + log_normal_density(yt[t], mean[t], variance[t]));
    }
    if (target_noise_ > 0) joint.add(log_weight + posterior.joint_log_likelihood(xt, yt, target_noise_));
  }
  BayesPredictions result;
  for (std::size_t t = 0; t < nt; ++t) {
    result.diagonal.mean.push_back(moments[t].mean());
    result.diagonal.variance.push_back(moments[t].variance());
    result.log_likelihood.push_back(mixture[t].value());
  }
  if (target_noise_ > 0) result.joint_log_likelihood = joint.value();
  return result;
}

}  // namespace npzoo
