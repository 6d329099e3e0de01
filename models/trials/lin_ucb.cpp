#include "npzoo/models/trials/lin_ucb.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "npzoo/engine/error.h"

namespace npzoo {

namespace {

double inner(std::span<const double> a, std::span<const double> b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

std::vector<double> product(std::span<const double> matrix, std::span<const double> vector) {
  std::vector<double> out;
  for (std::size_t row = 0; row < vector.size(); ++row)
    out.push_back(inner(matrix.subspan(row * vector.size(), vector.size()), vector));
  return out;
}

}  // namespace

LinUcb::LinUcb(std::int64_t arms, std::int64_t features, double ridge, double width) : width_(width) {
  check(ridge > 0, "[lin_ucb] ridge {} found, expected a number > 0", ridge);
  const auto n = static_cast<std::size_t>(features);
  Regression empty{std::vector<double>(n * n), std::vector<double>(n)};
  for (std::size_t i = 0; i < n; ++i) empty.inverse[i * n + i] = 1 / ridge;
  arms_.assign(static_cast<std::size_t>(arms), empty);
}

double LinUcb::bound(std::int64_t arm, std::span<const double> features) const {
  const Regression& of_arm = arms_[static_cast<std::size_t>(arm)];
  const std::vector<double> spread = product(of_arm.inverse, features);
  return inner(spread, of_arm.sums) + width_ * std::sqrt(inner(spread, features));
}

std::int64_t LinUcb::choose(std::span<const double> features) const {
  std::vector<double> bounds;
  for (std::int64_t arm = 0; arm < std::ssize(arms_); ++arm) bounds.push_back(bound(arm, features));
  return std::ranges::max_element(bounds) - bounds.begin();
}

void LinUcb::learn(std::int64_t arm, std::span<const double> features, double reward) {
  Regression& of_arm = arms_[static_cast<std::size_t>(arm)];
  const std::vector<double> spread = product(of_arm.inverse, features);
  const double scale = 1 / (1 + inner(spread, features));  // the formula of Sherman and Morrison
  const std::size_t n = features.size();
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) of_arm.inverse[i * n + j] -= scale * spread[i] * spread[j];
    of_arm.sums[i] += reward * features[i];
  }
}

}  // namespace npzoo
