#include "npzoo/datasets/scores.h"

#include "npzoo/datasets/boost_math.h"  // before Boost.Math

#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <numbers>

#include "npzoo/datasets/gaussian_mixture.h"
#include "npzoo/engine/error.h"

namespace npzoo {

double log_normal_density(double y, double mean, double variance) {
  const double error = y - mean;
  return -0.5 * (std::log(2 * std::numbers::pi * variance) + error * error / variance);
}

double student_quantile(std::int64_t degrees) {
  check(degrees >= 1, "[scores] Student's distribution of {} degrees of freedom, expected 1 or more", degrees);
  return boost::math::quantile(boost::math::students_t(static_cast<double>(degrees)), 0.975);
}

void RunningMean::add(double value) {  // Welford, Technometrics 1962
  ++count_;
  const double delta = value - mean_;
  mean_ += delta / static_cast<double>(count_);
  squares_ += delta * (value - mean_);
}

Estimate RunningMean::estimate() const {
  Estimate result{.value = mean_};
  const auto n = static_cast<double>(count_);
  if (count_ > 1) result.standard_error = std::sqrt(squares_ / (n - 1) / n);
  return result;
}

void MarginalFit::add(double mean, double std, double y) {
  const GaussianMixture one{{&mean, 1}, {&std, 1}};
  add(npzoo::crps(one, y), central_mass(one, y));
}

void MarginalFit::add(double crps, double central_mass) {
  crps_ += crps;
  const double needed = 100 * central_mass;
  ++values_;
  if (std::isnan(needed)) return;  // no interval around such a prediction holds anything
  const auto first = static_cast<std::size_t>(std::ceil(needed / kStep)) - (needed > 0);
  if (first < inside_.size()) ++inside_[first];
}

double MarginalFit::coverage(int percent) const {
  check(percent >= kStep && percent < 100 && percent % kStep == 0,
        "[scores] interval of {} %, expected a multiple of {} below 100", percent, kStep);
  std::int64_t inside = 0;
  for (int i = 0; i < percent / kStep; ++i) inside += inside_[static_cast<std::size_t>(i)];
  return static_cast<double>(inside) / static_cast<double>(values_);
}

std::map<int, double> MarginalFit::coverage() const {
  std::map<int, double> shares;
  for (const int percent : {50, 80, 90, 95}) shares[percent] = coverage(percent);
  return shares;
}

double MarginalFit::calibration_error() const {
  double sum = 0;
  int intervals = 0;
  for (int percent = kStep; percent < 100; percent += kStep, ++intervals)
    sum += std::abs(coverage(percent) - percent / 100.0);
  return sum / intervals;
}

}  // namespace npzoo
