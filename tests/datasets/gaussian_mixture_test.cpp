#include "datasets/gaussian_mixture.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>
#include <numbers>
#include <vector>

#include "tests/testing.h"

using namespace npzoo;
using namespace npzoo::testing;

namespace {

struct Mixture {
  std::vector<double> mean, std;
  GaussianMixture view() const { return {mean, std}; }

  double density(double x) const {
    double sum = 0;
    for (std::size_t k = 0; k < mean.size(); ++k) {
      const double z = (x - mean[k]) / std[k];
      sum += std::exp(-z * z / 2) / (std[k] * std::sqrt(2 * std::numbers::pi));
    }
    return sum / static_cast<double>(mean.size());
  }
};

const std::vector<Mixture> kMixtures{{{0.3}, {1.7}},
                                     {{-1, 2}, {0.5, 0.5}},
                                     {{-1, 2, 2}, {0.1, 1, 3}},
                                     {{0, 0, 0, 0}, {1, 1, 1, 1}},
                                     {{-4, 4}, {0.3, 0.2}}};

constexpr double kRounding = 1e-15;  // of a sum of distribution functions, where these are flat
constexpr double kLow = -40, kHigh = 40;
constexpr int kPieces = 400'000;

/// ∫ f from `low` to `high` by the midpoint rule.
template <class F>
double integral(const F& f, double low, double high) {
  const int pieces = std::max(1, static_cast<int>(kPieces * (high - low) / (kHigh - kLow)));
  double sum = 0;
  for (int i = 0; i < pieces; ++i) sum += f(low + (high - low) * (i + 0.5) / pieces);
  return sum * (high - low) / pieces;
}

}  // namespace

TEST_CASE("gaussian mixture: moments and distribution function are those of the density, by quadrature") {
  for (const Mixture& m : kMixtures) {
    const double mean = integral([&](double x) { return x * m.density(x); }, kLow, kHigh);
    const double square = integral([&](double x) { return (x - mean) * (x - mean) * m.density(x); }, kLow, kHigh);
    CHECK(moments(m.view()).mean == doctest::Approx(mean).epsilon(1e-8));
    CHECK(moments(m.view()).std == doctest::Approx(std::sqrt(square)).epsilon(1e-8));
    for (const double y : {-5.0, -1.0, 0.0, 0.4, 2.0, 7.0}) {
      const double below = integral([&](double x) { return m.density(x); }, kLow, y);
      CHECK(cdf(m.view(), y) == doctest::Approx(below).epsilon(1e-7));
      CHECK(central_mass(m.view(), y) == doctest::Approx(std::abs(2 * below - 1)).epsilon(1e-7));
    }
  }
}

TEST_CASE("gaussian mixture: CRPS is the integral over the squared distance of distribution functions") {
  for (const Mixture& m : kMixtures)
    for (const double y : {-5.0, -1.0, 0.0, 0.4, 2.0, 7.0}) {
      const double below = integral([&](double x) { return std::pow(cdf(m.view(), x), 2); }, kLow, y);
      const double above = integral([&](double x) { return std::pow(1 - cdf(m.view(), x), 2); }, y, kHigh);
      CHECK(crps(m.view(), y) == doctest::Approx(below + above).epsilon(1e-6));
    }
}

TEST_CASE("gaussian mixture: equal Gaussians are one, to rounding, and points have distances for scores") {
  const Mixture one{{0.3}, {1.7}}, three{{0.3, 0.3, 0.3}, {1.7, 1.7, 1.7}};
  for (const double y : {-3.0, 0.3, 2.0}) {
    CHECK(crps(three.view(), y) == doctest::Approx(crps(one.view(), y)).epsilon(1e-12));
    CHECK(cdf(three.view(), y) == doctest::Approx(cdf(one.view(), y)).epsilon(1e-12));
  }
  CHECK(moments(one.view()).std == 1.7);
  const Mixture points{{1, 4}, {1e-12, 1e-12}};  // E|Y − y| − E|Y − Y'| / 2
  CHECK(crps(points.view(), 2) == doctest::Approx(1.5 - 0.75));
}

TEST_CASE("gaussian mixture: a quantile is where the distribution function reaches p, in both tails") {
  for (const Mixture& m : kMixtures)
    for (const double p : {1e-12, 1e-3, 0.025, 0.3, 0.5, 0.7, 0.975, 1 - 1e-3}) {
      CAPTURE(p);
      const double y = quantile(m.view(), p), step = 1e-9 * (1 + std::abs(y));
      CHECK(cdf(m.view(), y - step) <= p * (1 + kRounding));
      CHECK(cdf(m.view(), y + step) >= p * (1 - kRounding));
    }
  const Mixture symmetric{{-2, 2}, {0.5, 0.5}};
  for (const double p : {1e-15, 1e-6, 0.2})
    CHECK(quantile(symmetric.view(), p) ==
          doctest::Approx(-quantile(symmetric.view(), 1 - p)).epsilon(p < 1e-9 ? 0.05 : 1e-8));
  CHECK(quantile(Mixture{{1}, {2}}.view(), 0.975) == doctest::Approx(1 + 2 * 1.959963984540054).epsilon(1e-14));
  CHECK(std::isnan(quantile(Mixture{{kNaN, 1}, {1, 1}}.view(), 0.5)));
  for (const double p : {0.0, 1.0, -1.0, kNaN})
    CHECK(error_of([&] { quantile(symmetric.view(), p); }) ==
          fmt::format("[quantile] p is {}, expected above 0 and below 1", p));
}
