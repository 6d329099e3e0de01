#include "npzoo/models/applications/optimise/acquisition.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <utility>

#include "npzoo/datasets/gaussian_mixture.h"
#include "npzoo/datasets/normal_distribution.h"
#include "npzoo/engine/error.h"

namespace npzoo {

namespace {

constexpr auto kAcquisitionNames = std::to_array<std::pair<AcquisitionKind, std::string_view>>({
    {AcquisitionKind::expected_improvement, "ei"},
    {AcquisitionKind::log_expected_improvement, "log-ei"},
    {AcquisitionKind::confidence_bound, "ucb"},
    {AcquisitionKind::improvement_probability, "pi"},
});

const double kLogRootTwoPi = 0.5 * std::log(2 * std::numbers::pi);

double unit_log_density(double z) { return -0.5 * z * z - kLogRootTwoPi; }
double unit_density(double z) { return std::exp(unit_log_density(z)); }

/// One Gaussian's share: a figure and how it changes with mean and deviation.
struct Share {
  double value, d_mean, d_std;
};

/// In logarithms where the figure is log EI.
Share share_of(const Acquisition& a, double mean, double std, double best) {
  const double z = (best - a.margin - mean) / std;
  switch (a.kind) {
    case AcquisitionKind::expected_improvement:
      return {std * std::exp(log_improvement(z)), -normal_probability(z), unit_density(z)};
    case AcquisitionKind::log_expected_improvement: {
      const double h = log_improvement(z);
      return {std::log(std) + h, -std::exp(log_normal_probability(z) - h) / std,
              std::exp(unit_log_density(z) - h) / std};
    }
    default: return {normal_probability(z), -unit_density(z) / std, -z * unit_density(z) / std};
  }
}

double weight_of(const Belief& b, std::size_t at) {
  return b.log_weight.empty() ? 1.0 / static_cast<double>(b.components) : std::exp(b.log_weight[at]);
}

/// The points of a belief one by one; component k of point i is at k · points + i.
class Points {
 public:
  Points(const Belief& belief, BeliefSlopes* slopes) : b_(belief), slopes_(slopes) {
    count_ = static_cast<std::size_t>(belief.points());
    if (slopes_) *slopes_ = {b_.mean, b_.mean, b_.mean};
  }

  std::size_t count() const { return count_; }

  /// Counts means from the first component: weights in float32 add up to 1 only to 1e-7, and means may be much larger
  /// than their differences.
  ValueMoments moments(std::size_t i) const {
    const double origin = b_.mean[i];
    double above = 0, variance = 0;
    each(i, [&](std::size_t at, double w) { above += w * (b_.mean[at] - origin); });
    each(i, [&](std::size_t at, double w) {
      const double off = b_.mean[at] - origin - above;
      variance += w * (b_.std[at] * b_.std[at] + off * off);
    });
    return {origin + above, std::sqrt(variance)};
  }

  double bound(double width, std::size_t i) {
    const auto [mean, std] = moments(i);
    each(i, [&, mean = mean, std = std](std::size_t at, double w) {
      const double off = b_.mean[at] - mean, per_variance = width / (2 * std);
      // The mean moves as well, which changes the variance by −2 (Σ w off) d mean: 0, since weights add up to 1.
      set(at, -w + per_variance * 2 * w * off, per_variance * 2 * w * b_.std[at],
          w * (b_.mean[i] - b_.mean[at] + per_variance * (b_.std[at] * b_.std[at] + off * off)));
    });
    return -mean + width * std;
  }

  double sum(const Acquisition& a, double best, std::size_t i) {
    double total = 0;
    each(i, [&](std::size_t at, double w) {
      const Share s = share_of(a, b_.mean[at], b_.std[at], best);
      total += w * s.value;
      set(at, w * s.d_mean, w * s.d_std, w * s.value);
    });
    return total;
  }

  double log_sum(const Acquisition& a, double best, std::size_t i) {
    double largest = -std::numeric_limits<double>::infinity();
    std::vector<Share> shares;
    each(i, [&](std::size_t at, double w) {
      shares.push_back(share_of(a, b_.mean[at], b_.std[at], best));
      shares.back().value += b_.log_weight.empty() ? std::log(w) : b_.log_weight[at];
      largest = std::max(largest, shares.back().value);
    });
    double total = 0;
    for (const Share& s : shares) total += std::exp(s.value - largest);
    std::size_t k = 0;
    each(i, [&](std::size_t at, double) {
      const Share& s = shares[k++];
      const double part = std::exp(s.value - largest) / total;
      set(at, part * s.d_mean, part * s.d_std, part);
    });
    return largest + std::log(total);
  }

 private:
  template <class F>
  void each(std::size_t i, F&& f) const {
    for (std::size_t at = i; at < b_.mean.size(); at += count_) f(at, weight_of(b_, at));
  }
  void set(std::size_t at, double d_mean, double d_std, double d_log_weight) {
    if (!slopes_) return;
    slopes_->mean[at] = d_mean;
    slopes_->std[at] = d_std;
    slopes_->log_weight[at] = d_log_weight;
  }

  const Belief& b_;
  BeliefSlopes* slopes_;
  std::size_t count_;
};

}  // namespace

std::string_view to_string(AcquisitionKind kind) {
  for (const auto& [known, name] : kAcquisitionNames)
    if (known == kind) return name;
  return "";
}

std::optional<AcquisitionKind> find_acquisition(std::string_view name) {
  for (const auto& [kind, known] : kAcquisitionNames)
    if (known == name) return kind;
  return {};
}

AcquisitionKind acquisition_kind(std::string_view name) {
  if (const auto kind = find_acquisition(name)) return *kind;
  fail("[acquisition] \"{}\" found, expected ei, log-ei, ucb or pi", name);
}

BeliefMoments moments_of(const Belief& belief) {
  const Points points(belief, nullptr);
  BeliefMoments all;
  for (std::size_t i = 0; i < points.count(); ++i) {
    const auto [mean, std] = points.moments(i);
    all.mean.push_back(mean);
    all.std.push_back(std);
  }
  return all;
}

std::vector<double> acquire(const Acquisition& acquisition, const Belief& belief, std::span<const double> best,
                            BeliefSlopes* slopes) {
  Points points(belief, slopes);
  check(!best.empty() && points.count() % best.size() == 0,
        "[acquisition] {} points of {} tasks, expected the same number for each", points.count(), best.size());
  const std::size_t each = points.count() / best.size();
  std::vector<double> values;
  values.reserve(points.count());
  for (std::size_t i = 0; i < points.count(); ++i) {
    const double b = best[i / each];
    switch (acquisition.kind) {
      case AcquisitionKind::confidence_bound: values.push_back(points.bound(acquisition.width, i)); break;
      case AcquisitionKind::log_expected_improvement: values.push_back(points.log_sum(acquisition, b, i)); break;
      default: values.push_back(points.sum(acquisition, b, i));
    }
  }
  return values;
}

}  // namespace npzoo
