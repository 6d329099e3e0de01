#include "npzoo/models/applications/gaussian_process/gp_search.h"

#include <doctest/doctest.h>

#include <cmath>
#include <numbers>

#include "npzoo/models/applications/gaussian_process/gaussian_process.h"
#include "tests/models/gp_fixtures.h"
#include "tests/testing.h"

using namespace npzoo;
using namespace npzoo::testing;

TEST_CASE("gaussian process: a fit finds the hyper-parameters that a field was drawn with") {
  const std::vector<double> x = uniform_places(2 * 300, 8);
  const GpCovariance covariance(GpKernel::parse("matern-3/2"), {0, 1});
  const std::vector<double> y =
      drawn_field(covariance, {std::log(2.0), std::log(0.2), std::log(0.8), std::log(0.3)}, x, 9);
  const GpFit found = GaussianProcess::fit({.dims = 2, .x = x, .y = y}, {.kernel = "matern-3/2"}).found();
  CHECK(found.values[1].value == doctest::Approx(0.2).epsilon(0.35));
  CHECK(found.values[2].value == doctest::Approx(0.8).epsilon(0.35));
  CHECK(found.values[0].value == doctest::Approx(2.0).epsilon(0.35));
  CHECK(found.noise() == doctest::Approx(0.3).epsilon(0.15));
  CHECK(found.fitted_points == 300);
  // The same in other units.
  std::vector<double> other = x, scaled = y;
  for (std::size_t i = 1; i < other.size(); i += 2) other[i] = 1000 * other[i] - 7;
  for (double& value : scaled) value = 10 * value + 100;
  const GpFit same = GaussianProcess::fit({.dims = 2, .x = other, .y = scaled}, {.kernel = "matern-3/2"}).found();
  CHECK(same.values[2].value == doctest::Approx(1000 * found.values[2].value).epsilon(1e-3));
  CHECK(same.noise() == doctest::Approx(10 * found.noise()).epsilon(1e-3));
}

TEST_CASE("gaussian process: the kernel is about the likeliest of the four") {
  constexpr double kFewNats = 1;  // kernels are compared on 128 of the points
  for (const char* drawn : {"matern-1/2", "rbf"}) {
    const std::vector<double> x = uniform_places(2 * 150, 8);
    const GpCovariance covariance(GpKernel::parse(drawn), {0, 1});
    const std::vector<double> y =
        drawn_field(covariance, {std::log(2.0), std::log(0.2), std::log(0.8), std::log(0.2)}, x, 9);
    const auto fit = [&](const std::string& kernel) {
      return GaussianProcess::fit({.dims = 2, .x = x, .y = y}, {.kernel = kernel}).found();
    };
    const double chosen = fit("auto").log_density;
    for (const char* other : {"matern-1/2", "matern-3/2", "matern-5/2", "rbf"})
      CHECK(chosen >= fit(other).log_density - kFewNats);
  }
}

TEST_CASE("gaussian process: one short lengthscale is found beside a long one, with a covariate and noise") {
  // A wave with a cycle of a sixth of the range, and a covariate in the mean and the kernel.
  std::vector<double> x, y;
  const std::vector<double> noise = uniform_places(60, 21), other = uniform_places(60, 22);
  for (std::size_t i = 0; i < 60; ++i) {
    const double t = static_cast<double>(i);
    x.insert(x.end(), {t, other[i]});
    y.push_back(8 * std::sin(2 * std::numbers::pi * t / 10) + 3 * other[i] + 2 * noise[i]);
  }
  const GpFit found = GaussianProcess::fit({.dims = 2, .x = x, .y = y, .in_mean = {false, true}}).found();
  for (const char* kernel : {"matern-1/2", "matern-3/2", "matern-5/2", "rbf"}) {
    const double one = GaussianProcess::fit({.dims = 2, .x = x, .y = y, .in_mean = {false, true}}, {.kernel = kernel})
                           .found()
                           .log_density;
    CHECK(found.log_density >= one - 0.1);
  }
  CHECK(found.noise() < 2);
}
