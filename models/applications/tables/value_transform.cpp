#include "npzoo/models/applications/tables/value_transform.h"

#include "npzoo/datasets/boost_math.h"  // before Boost.Math

#include <fmt/format.h>

#include <algorithm>
#include <boost/math/quadrature/gauss.hpp>
#include <cmath>
#include <numbers>

#include "npzoo/datasets/normal_distribution.h"
#include "npzoo/datasets/scores.h"
#include "npzoo/models/applications/tables/count_figures.h"

namespace npzoo {

namespace {

using Kind = ValueTransform::Kind;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kTail = 9;         // standard deviations; less than 1e-18 is beyond
constexpr double kSmoothWidth = 2;  // of a panel, for the logistic function, whose poles are at ±πi
constexpr std::size_t kMostPanels = 4096;

double offset(const ValueTransform& t) { return t.counts && t.kind == Kind::log ? 0.5 : 0; }

/// The value of z before it is cut to whole numbers and limits.
double raw(const ValueTransform& t, double z) {
  switch (t.kind) {
    case Kind::none: return z;
    case Kind::log: return t.low - offset(t) + std::exp(z);
    case Kind::sqrt: return t.low + (z > 0 ? z * z : 0);
    case Kind::logit: return t.low + (t.high - t.low) / (1 + std::exp(-z));
  }
  return z;
}

double slope(const ValueTransform& t, double z) {
  switch (t.kind) {
    case Kind::none: return 1;
    case Kind::log: return std::exp(z);
    case Kind::sqrt: return z > 0 ? 2 * z : 0;
    case Kind::logit: return (t.high - t.low) / (2 + std::exp(-z) + std::exp(z));
  }
  return 1;
}

/// The z with raw(z) = y.
double inverse_of_raw(const ValueTransform& t, double y) {
  switch (t.kind) {
    case Kind::none: return y;
    case Kind::log: return y - t.low + offset(t) > 0 ? std::log(y - t.low + offset(t)) : -kInfinity;
    case Kind::sqrt: return y > t.low ? std::sqrt(y - t.low) : 0;
    case Kind::logit: return y <= t.low ? -kInfinity : y >= t.high ? kInfinity : std::log((y - t.low) / (t.high - y));
  }
  return y;
}

double weight_sum(const GaussianMixture& z) {
  double sum = 0;
  for (const double w : z.weight) sum += w;
  return z.weight.empty() ? static_cast<double>(z.mean.size()) : sum;
}

double weight_of(const GaussianMixture& z, std::size_t k) { return z.weight.empty() ? 1 : z.weight[k]; }

/// P(Z ≤ z); z may be infinite.
double probability(const GaussianMixture& mixture, double z) {
  if (std::isinf(z)) return z > 0;
  double sum = 0;
  for (std::size_t k = 0; k < mixture.mean.size(); ++k)
    sum += weight_of(mixture, k) * normal_probability((z - mixture.mean[k]) / mixture.std[k]);
  return sum / weight_sum(mixture);
}

double upper_probability(const GaussianMixture& mixture, double z) {
  if (std::isinf(z)) return z < 0;
  double sum = 0;
  for (std::size_t k = 0; k < mixture.mean.size(); ++k)
    sum += weight_of(mixture, k) * normal_probability((mixture.mean[k] - z) / mixture.std[k]);
  return sum / weight_sum(mixture);
}

/// ∫ f over [from, to] in panels of at most `width`.
double integral(double from, double to, double width, const auto& f) {
  if (!(to > from)) return 0;
  const auto panels =
      static_cast<std::size_t>(std::clamp(std::ceil((to - from) / width), 1.0, static_cast<double>(kMostPanels)));
  const double step = (to - from) / static_cast<double>(panels);
  double sum = 0;
  for (std::size_t i = 0; i < panels; ++i) {
    const double begin = from + static_cast<double>(i) * step;
    sum += boost::math::quadrature::gauss<double, 10>::integrate(f, begin, begin + step);
  }
  return sum;
}

double panel_width(const ValueTransform& t, double std) {
  return t.kind == Kind::logit ? std::min(std, kSmoothWidth) : std;
}

/// The interval of z that has nearly all of its probability, also when weighted by powers of Y up to `power`.
struct Support {
  double low = 0, high = 0;
};
Support support_of(const ValueTransform& t, double mean, double std, double power) {
  return {mean - kTail * std, mean + (kTail + (t.kind == Kind::log ? power * std : 0)) * std};
}

/// The z between which Y is not at a limit.
Support inside_limits(const ValueTransform& t) {
  const double low = t.kind == Kind::none || t.kind == Kind::sqrt ? inverse_of_raw(t, t.low) : -kInfinity;
  return {low, inverse_of_raw(t, t.high)};
}

/// E[Y − center] and E[(Y − center)²] for one Gaussian.
std::pair<double, double> powers(const ValueTransform& t, double mean, double std, double center) {
  const Support inside = inside_limits(t), wide = support_of(t, mean, std, 2);
  const double from = std::max(inside.low, wide.low), to = std::min(inside.high, wide.high);
  const auto density = [&](double z) {
    const double u = (z - mean) / std;
    return std::exp(-0.5 * u * u) / (std * std::sqrt(2 * std::numbers::pi));
  };
  const double width = panel_width(t, std);
  const auto off = [&](double z) { return raw(t, z) - center; };
  double first = integral(from, to, width, [&](double z) { return off(z) * density(z); });
  double second = integral(from, to, width, [&](double z) { return off(z) * off(z) * density(z); });
  const auto add = [&](double limit, double mass) {
    if (!(mass > 0) || std::isinf(limit)) return;
    first += (limit - center) * mass;
    second += (limit - center) * (limit - center) * mass;
  };
  if (std::isfinite(inside.low)) add(t.low, normal_probability((inside.low - mean) / std));
  if (std::isfinite(inside.high)) add(t.high, normal_probability((mean - inside.high) / std));
  return {first, second};
}

/// The least and the largest value that is likely at all.
Support likely_values(const ValueTransform& t, const GaussianMixture& z) {
  Support all{kInfinity, -kInfinity};
  for (std::size_t k = 0; k < z.mean.size(); ++k) {
    const Support one = support_of(t, z.mean[k], z.std[k], 0.5);
    all.low = std::min(all.low, one.low);
    all.high = std::max(all.high, one.high);
  }
  return all;
}

/// Whole numbers few enough to sum over; nothing otherwise.
bool are_few(const ValueTransform& t, const Support& z) {
  return t.counts && t.inverse(z.high) - t.inverse(z.low) < kMostCounts;
}

}  // namespace

bool ValueTransform::active() const {
  return kind != Kind::none || counts || std::isfinite(low) || std::isfinite(high);
}

double ValueTransform::forward(double y) const { return inverse_of_raw(*this, y); }

double ValueTransform::inverse(double z) const {
  const double y = raw(*this, z);
  return std::clamp(counts ? std::ceil(y - 0.5) + 0.0 : y, low, high);  // + 0.0: no negative zero
}

double ValueTransform::at_most(double y) const {
  if (y < low) return -kInfinity;
  if (y >= high) return kInfinity;
  return inverse_of_raw(*this, counts ? std::floor(y) + 0.5 : y);
}

double ValueTransform::below(double y) const {
  if (y <= low) return -kInfinity;
  if (y > high) return kInfinity;
  return inverse_of_raw(*this, counts ? std::ceil(y) - 0.5 : y);
}

std::string ValueTransform::scaled(const std::string& name) const {
  switch (kind) {
    case Kind::none: return name;
    case Kind::log: return fmt::format("log({})", name);
    case Kind::sqrt: return fmt::format("sqrt({})", name);
    case Kind::logit: return fmt::format("logit({})", name);
  }
  return name;
}

ValueMoments moments(const ValueTransform& t, const GaussianMixture& z) {
  if (const Support likely = likely_values(t, z); are_few(t, likely))
    return moments_of_counts(t.inverse(likely.low), t.inverse(likely.high),
                             [&](double k) { return upper_probability(z, t.at_most(k)); });
  const double total = weight_sum(z);
  double center = 0;  // near the mean, so that the variance keeps its digits
  for (std::size_t k = 0; k < z.mean.size(); ++k) center += weight_of(z, k) / total * t.inverse(z.mean[k]);
  double first = 0, second = 0;
  for (std::size_t k = 0; k < z.mean.size(); ++k) {
    const auto [one, two] = powers(t, z.mean[k], z.std[k], center);
    first += weight_of(z, k) / total * one;
    second += weight_of(z, k) / total * two;
  }
  return {std::clamp(center + first, t.low, t.high), std::sqrt(std::max(0.0, second - first * first))};
}

double cdf(const ValueTransform& t, const GaussianMixture& z, double y) { return probability(z, t.at_most(y)); }

double central_mass(const ValueTransform& t, const GaussianMixture& z, double y) {
  const double tail = std::min(probability(z, t.at_most(y)), upper_probability(z, t.below(y)));
  return std::max(0.0, 1 - 2 * tail);
}

double crps(const ValueTransform& t, const GaussianMixture& z, double y) {
  const Support likely = likely_values(t, z);
  if (are_few(t, likely))
    return crps_of_counts(
        t.inverse(likely.low), t.inverse(likely.high), y, [&](double k) { return probability(z, t.at_most(k)); },
        [&](double k) { return upper_probability(z, t.at_most(k)); });
  const Support inside = inside_limits(t);
  const double from = std::max(inside.low, likely.low), to = std::max(from, std::min(inside.high, likely.high));
  const double known = std::clamp(inverse_of_raw(t, std::clamp(y, t.low, t.high)), from, to);
  const double width = panel_width(t, *std::ranges::min_element(z.std));
  const auto square = [](double p) { return p * p; };
  const auto value = [&](double at) { return std::clamp(raw(t, at), t.low, t.high); };
  // Beyond the likely values the distribution function is 0 or 1.
  return std::max(0.0, value(from) - y) + std::max(0.0, y - value(to)) +
         integral(from, known, width, [&](double at) { return square(probability(z, at)) * slope(t, at); }) +
         integral(known, to, width, [&](double at) { return square(upper_probability(z, at)) * slope(t, at); });
}

double log_density(const ValueTransform& t, double mean, double std, double y) {
  if (!(y >= t.low && y <= t.high)) return -kInfinity;
  const double above = t.at_most(y), under = t.below(y);
  if (under < above) {
    const double upper = (above - mean) / std, lower = (under - mean) / std;
    // Differences of the nearer tail keep their digits.
    const double mass = lower > 0 ? normal_probability(-lower) - normal_probability(-upper)
                                  : normal_probability(upper) - normal_probability(lower);
    return std::isinf(lower)   ? log_normal_probability(upper)
           : std::isinf(upper) ? log_normal_probability(-lower)
                               : std::log(mass);
  }
  const double at = t.forward(y), steep = slope(t, at);
  return std::isfinite(at) && steep > 0 ? log_normal_density(at, mean, std * std) - std::log(steep) : -kInfinity;
}

}  // namespace npzoo
