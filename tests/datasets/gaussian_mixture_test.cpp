#include "npzoo/datasets/gaussian_mixture.h"

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
  std::vector<double> mean, std, weight{};
  Scale scale = Scale::linear;
  GaussianMixture view() const { return {mean, std, weight, scale}; }

  /// Returns the density of the Gaussians at a place on their scale.
  double density(double x) const {
    double sum = 0, total = 0;
    for (std::size_t k = 0; k < mean.size(); ++k) {
      const double z = (x - mean[k]) / std[k], w = weight.empty() ? 1 : weight[k];
      sum += w * std::exp(-z * z / 2) / (std[k] * std::sqrt(2 * std::numbers::pi));
      total += w;
    }
    return sum / total;
  }
  double value(double x) const { return scale == Scale::linear ? x : std::exp(x); }
  /// Returns the derivative of the value at a place on that scale.
  double slope(double x) const { return scale == Scale::linear ? 1 : std::exp(x); }
};

const std::vector<Mixture> kMixtures{{{0.3}, {1.7}},
                                     {{-1, 2}, {0.5, 0.5}},
                                     {{-1, 2, 2}, {0.1, 1, 3}},
                                     {{0, 0, 0, 0}, {1, 1, 1, 1}},
                                     {{-4, 4}, {0.3, 0.2}},
                                     {{-1, 2, 2}, {0.1, 1, 3}, {3, 0.5, 1}},
                                     {{0.3}, {0.7}, {}, Scale::logarithmic},
                                     {{-1, 0.5}, {0.4, 0.9}, {}, Scale::logarithmic},
                                     {{-1, 1, 0.2, 0.5}, {0.3, 0.6, 1, 0.01}, {0.2, 0, 0.5, 0.3}, Scale::logarithmic}};

constexpr double kRounding = 1e-15;  // of a sum of distribution functions, where these are flat
constexpr double kLow = -40, kHigh = 40;
constexpr int kPieces = 400'000;

/// ∫ f from `low` to `high` by the midpoint rule, over places on a scale; nothing of it is below kLow.
template <class F>
double integral(const F& f, double low, double high) {
  if (high <= low) return 0;
  const int pieces = std::max(1, static_cast<int>(kPieces * (high - low) / (kHigh - kLow)));
  double sum = 0;
  for (int i = 0; i < pieces; ++i) sum += f(low + (high - low) * (i + 0.5) / pieces);
  return sum * (high - low) / pieces;
}

double place_of(const Mixture& m, double y) { return m.scale == Scale::linear ? y : y > 0 ? std::log(y) : kLow; }

}  // namespace

TEST_CASE("gaussian mixture: moments and distribution function are those of the density, by quadrature") {
  for (const Mixture& m : kMixtures) {
    const double mean = integral([&](double x) { return m.value(x) * m.density(x); }, kLow, kHigh);
    const double square =
        integral([&](double x) { return std::pow(m.value(x) - mean, 2) * m.density(x); }, kLow, kHigh);
    CHECK(moments(m.view()).mean == doctest::Approx(mean).epsilon(1e-8));
    CHECK(moments(m.view()).std == doctest::Approx(std::sqrt(square)).epsilon(1e-8));
    for (const double y : {-5.0, -1.0, 0.0, 0.4, 2.0, 7.0}) {
      const double below = integral([&](double x) { return m.density(x); }, kLow, place_of(m, y));
      CHECK(cdf(m.view(), y) == doctest::Approx(below).epsilon(1e-7));
      CHECK(central_mass(m.view(), y) == doctest::Approx(std::abs(2 * below - 1)).epsilon(1e-7));
    }
  }
}

TEST_CASE("gaussian mixture: CRPS is the integral over the squared distance of distribution functions") {
  for (const Mixture& m : kMixtures)
    for (const double y : {-5.0, -1.0, 0.0, 0.4, 2.0, 7.0}) {
      const double place = place_of(m, y);
      const auto squared = [&](double x, double step) { return std::pow(cdf(m.view(), m.value(x)) - step, 2); };
      const double below = integral([&](double x) { return squared(x, 0) * m.slope(x); }, kLow, place);
      const double above = integral([&](double x) { return squared(x, 1) * m.slope(x); }, place, kHigh);
      const double nowhere = m.scale == Scale::logarithmic && y < 0 ? -y : 0;  // between y and 0
      CHECK(crps(m.view(), y) == doctest::Approx(below + above + nowhere).epsilon(1e-6));
    }
}

TEST_CASE("gaussian mixture: equal weights are none, to the bit, and a Gaussian of weight 0 counts for nothing") {
  const Mixture none{{-1, 2, 2.5}, {0.1, 1, 3}};
  for (const Scale scale : {Scale::linear, Scale::logarithmic}) {
    const Mixture plain{none.mean, none.std, {}, scale}, equal{none.mean, none.std, {1, 1, 1}, scale},
        more{{-1, 2, 900, 2.5}, {0.1, 1, 0.2, 3}, {0.25, 0.25, 0, 0.25}, scale};
    CHECK(moments(equal.view()).mean == moments(plain.view()).mean);
    CHECK(moments(equal.view()).std == moments(plain.view()).std);
    CHECK(moments(more.view()).mean == doctest::Approx(moments(plain.view()).mean).epsilon(1e-14));
    CHECK(moments(more.view()).std == doctest::Approx(moments(plain.view()).std).epsilon(1e-14));
    for (const double y : {-1.0, 0.0, 0.4, 2.0, 7.0}) {
      CHECK(cdf(equal.view(), y) == cdf(plain.view(), y));
      CHECK(central_mass(equal.view(), y) == central_mass(plain.view(), y));
      CHECK(crps(equal.view(), y) == crps(plain.view(), y));
      CHECK(cdf(more.view(), y) == doctest::Approx(cdf(plain.view(), y)).epsilon(1e-14));
      CHECK(central_mass(more.view(), y) == doctest::Approx(central_mass(plain.view(), y)).epsilon(1e-14));
      CHECK(crps(more.view(), y) == doctest::Approx(crps(plain.view(), y)).epsilon(1e-13));
    }
    for (const double p : {1e-9, 0.3, 0.9}) {
      CHECK(quantile(equal.view(), p) == quantile(plain.view(), p));
      CHECK(quantile(more.view(), p) == doctest::Approx(quantile(plain.view(), p)).epsilon(1e-12));
    }
    CHECK(quantile(Mixture{{1, 1e6}, {1, 1}, {1, 0}}.view(), 0.5) == 1);
    for (const std::vector<double>& weight : {std::vector<double>{1, kNaN, 1}, std::vector<double>{0, 0, 0}}) {
      const Mixture undefined{none.mean, none.std, weight, scale};
      CHECK(std::isnan(quantile(undefined.view(), 0.3)));
      CHECK(std::isnan(cdf(undefined.view(), 0.3)));
      CHECK(std::isnan(crps(undefined.view(), 0.3)));
    }
  }
}

TEST_CASE("gaussian mixture: one log-normal distribution in closed form, and nothing at 0 or below") {
  const Mixture one{{0.4}, {0.8}, {}, Scale::logarithmic};
  CHECK(moments(one.view()).mean == doctest::Approx(std::exp(0.4 + 0.32)).epsilon(1e-15));
  CHECK(moments(one.view()).std == doctest::Approx(std::exp(0.72) * std::sqrt(std::exp(0.64) - 1)).epsilon(1e-14));
  CHECK(quantile(one.view(), 0.5) == doctest::Approx(std::exp(0.4)).epsilon(1e-15));
  CHECK(quantile(one.view(), 0.975) == doctest::Approx(std::exp(0.4 + 0.8 * 1.959963984540054)).epsilon(1e-14));
  for (const double y : {-3.0, 0.0}) {
    CHECK(cdf(one.view(), y) == 0);
    CHECK(central_mass(one.view(), y) == 1);
    CHECK(crps(one.view(), y) == doctest::Approx(crps(one.view(), 0) - y).epsilon(1e-14));
  }
  for (const double y : {0.2, 1.0, 5.0}) {  // Baran and Lerch, 2015, section 2
    const auto normal_cdf = [](double x) { return std::erfc(-x / std::numbers::sqrt2) / 2; };
    const double z = (std::log(y) - 0.4) / 0.8;
    CHECK(crps(one.view(), y) ==
          doctest::Approx(y * (2 * normal_cdf(z) - 1) -
                          2 * std::exp(0.72) * (normal_cdf(z - 0.8) + normal_cdf(0.8 / std::numbers::sqrt2) - 1))
              .epsilon(1e-13));
  }
  // Here the terms of the textbook's form are as large as the mean, 3.9e17. The value was computed with 60 digits.
  const Mixture wide{{0}, {9}, {}, Scale::logarithmic};
  CHECK(crps(wide.view(), 1) == doctest::Approx(76303677.6846418127).epsilon(1e-12));
  CHECK(std::isnan(cdf(one.view(), kNaN)));
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
