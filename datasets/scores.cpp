#include "datasets/scores.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "engine/error.h"

namespace npzoo {

namespace {

/// CRPS of a standard normal distribution at z.
double standard_crps(double z) {
  const double density = std::exp(-z * z / 2) / std::sqrt(2 * std::numbers::pi);
  const double cdf = std::erfc(-z / std::numbers::sqrt2) / 2;
  return z * (2 * cdf - 1) + 2 * density - std::numbers::inv_sqrtpi;
}

}  // namespace

void RunningMean::add(double value) {  // Welford, Technometrics 1962
  ++count_;
  const double delta = value - mean_;
  mean_ += delta / static_cast<double>(count_);
  squares_ += delta * (value - mean_);
}

double RunningMean::standard_error() const {
  if (count_ < 2) return std::numeric_limits<double>::quiet_NaN();
  const auto n = static_cast<double>(count_);
  return std::sqrt(squares_ / (n - 1) / n);
}

double GaussianScores::add(std::span<const double> mean, std::span<const double> std, std::span<const double> y,
                           std::int64_t points) {
  check(mean.size() == y.size() && std.size() == y.size(), "[scores] {} means, {} deviations and {} values",
        mean.size(), std.size(), y.size());
  static const double kLogRootTwoPi = 0.5 * std::log(2 * std::numbers::pi);
  double sum = 0;
  for (std::size_t i = 0; i < y.size(); ++i) {
    const double z = (y[i] - mean[i]) / std[i];
    sum -= kLogRootTwoPi + std::log(std[i]) + z * z / 2;
    crps_ += std[i] * standard_crps(z);
    const double needed = 100 * std::erf(std::abs(z) / std::numbers::sqrt2);  // per cent of the smallest such interval
    const auto first = static_cast<std::size_t>(std::ceil(needed / kStep)) - (needed > 0);
    if (first < inside_.size()) ++inside_[first];
  }
  values_ += std::ssize(y);
  log_likelihood_.add(sum / static_cast<double>(points));
  return sum / static_cast<double>(points);
}

double GaussianScores::coverage(int percent) const {
  check(percent >= kStep && percent < 100 && percent % kStep == 0,
        "[scores] interval of {} %, expected a multiple of {} below 100", percent, kStep);
  std::int64_t inside = 0;
  for (int i = 0; i < percent / kStep; ++i) inside += inside_[static_cast<std::size_t>(i)];
  return static_cast<double>(inside) / static_cast<double>(values_);
}

double GaussianScores::calibration_error() const {
  double sum = 0;
  int intervals = 0;
  for (int percent = kStep; percent < 100; percent += kStep, ++intervals)
    sum += std::abs(coverage(percent) - percent / 100.0);
  return sum / intervals;
}

}  // namespace npzoo
