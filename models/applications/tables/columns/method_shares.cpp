#include "npzoo/models/applications/tables/columns/method_shares.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "npzoo/engine/optim/nelder_mead.h"

namespace npzoo {

namespace {

constexpr double kLeastStd = 1e-3;  // of a guess, in standard deviations of its column

/// The shares of a point: a softmax, and the logarithm of the width at the end.
MethodShares shares_at(const std::vector<double>& point) {
  MethodShares s{.shares = {point.begin(), point.end() - 1}, .width = std::exp(point.back())};
  const double most = *std::ranges::max_element(s.shares);
  double sum = 0;
  for (double& share : s.shares) sum += share = std::exp(share - most);
  for (double& share : s.shares) share /= sum;
  return s;
}

}  // namespace

MethodShares MethodShares::equal(std::size_t methods) {
  return {.shares = std::vector<double>(methods, 1 / static_cast<double>(methods))};
}

CellGuess MethodShares::mix(std::span<const CellGuess> guesses) const {
  double sum = 0, mean = 0, variance = 0;
  for (std::size_t k = 0; k < guesses.size(); ++k) {
    const double std = std::max(guesses[k].std, kLeastStd), weight = shares[k] / std;
    sum += weight;
    mean += weight * guesses[k].mean;
    variance += weight * std * std;
  }
  return {mean / sum, std::sqrt(variance / sum) * width};
}

double gaussian_crps(const CellGuess& guess, double value) {
  const double std = std::max(guess.std, std::numeric_limits<double>::min()), z = (value - guess.mean) / std;
  const double density = std::exp(-0.5 * z * z) / std::sqrt(2 * std::numbers::pi);
  return std * (z * std::erf(z / std::numbers::sqrt2) + 2 * density - std::numbers::inv_sqrtpi);
}

MethodShares fit_shares(std::span<const CellGuess> guesses, std::span<const double> values, std::size_t methods) {
  constexpr std::size_t kFewest = 10;
  if (values.size() < kFewest) return MethodShares::equal(methods);
  const auto n = static_cast<double>(values.size());
  const auto loss = [&](const std::vector<double>& point) {
    const MethodShares s = shares_at(point);
    double sum = 0, squares = 0;
    for (std::size_t i = 0; i < values.size(); ++i)
      sum += gaussian_crps(s.mix(guesses.subspan(i * methods, methods)), values[i]);
    for (std::size_t k = 0; k < methods; ++k) squares += point[k] * point[k] / static_cast<double>(methods);
    return sum / n + (0.1 * squares + point.back() * point.back()) * 0.1 / std::sqrt(n);
  };
  std::vector<double> best(methods + 1);
  double least = loss(best);
  for (std::size_t k = 0; k < methods; ++k) {
    std::vector<double> start(methods + 1);
    start[k] = 2;
    if (const double l = loss(start); l < least) {
      least = l;
      best = start;
    }
  }
  constexpr NelderMeadOptions kSearch{.step = 0.5, .most_calls = 250, .value_spread = 1e-5};
  // Errors that so many numbers are fitted to are smaller than others by about this.
  MethodShares found = shares_at(nelder_mead(loss, best, kSearch).at);
  found.width *= 1 + static_cast<double>(methods + 1) / (2 * n);
  return found;
}

}  // namespace npzoo
