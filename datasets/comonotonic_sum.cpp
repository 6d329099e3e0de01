#include "npzoo/datasets/comonotonic_sum.h"

#include "npzoo/datasets/boost_math.h"  // before Boost.Math

#include <boost/math/tools/toms748_solve.hpp>
#include <cmath>
#include <limits>
#include <span>

#include "npzoo/datasets/normal_expectation.h"

namespace npzoo {

namespace {

constexpr double kFarthest = 40;  // beyond it a standard normal number has no probability in double

double mean_of(const ComonotonicSum::LogNormal& part) {
  return part.share * std::exp(part.mean + 0.5 * part.std * part.std);
}

}  // namespace

double ComonotonicSum::at(double u) const {
  double y = mean + std * u;
  for (const LogNormal& part : parts) y += part.share * std::exp(part.mean + part.std * u);
  return y;
}

double ComonotonicSum::inverse(double y) const {
  if (parts.empty() && std > 0) return (y - mean) / std;
  const auto off = [&](double u) { return at(u) - y; };
  const double low = off(-kFarthest), high = off(kFarthest);
  if (!(low < 0)) return -std::numeric_limits<double>::infinity();
  if (!(high > 0)) return std::numeric_limits<double>::infinity();
  std::uintmax_t most = 200;
  const auto [from, to] = boost::math::tools::toms748_solve(off, -kFarthest, kFarthest, low, high,
                                                            boost::math::tools::eps_tolerance<double>(50), most);
  return 0.5 * (from + to);
}

ValueMoments ComonotonicSum::moments() const {
  double first = mean, variance = std * std;
  for (const LogNormal& part : parts) {
    const double one = mean_of(part);
    first += one;
    variance += 2 * std * part.std * one;  // E[u exp(s u)] = s exp(s²/2)
    for (const LogNormal& other : parts) variance += one * mean_of(other) * std::expm1(part.std * other.std);
  }
  return {first, std::sqrt(variance)};
}

double ComonotonicSum::quantile(double probability) const { return at(normal_quantile(probability)); }

double ComonotonicSum::crps(double y) const {
  if (parts.empty() && std > 0) return npzoo::crps({std::span(&mean, 1), std::span(&std, 1)}, y);
  return rising_crps([this](double u) { return at(u); }, y, {inverse(y)});
}

ComonotonicSum ComonotonicSum::plus_variance(double variance) const {
  // std² + 2 std c + … is the variance, where c is the covariance of the parts with u.
  double c = 0;
  for (const LogNormal& part : parts) c += part.std * mean_of(part);
  ComonotonicSum wider = *this;
  wider.std = std::sqrt((std + c) * (std + c) + variance) - c;
  return wider;
}

}  // namespace npzoo
