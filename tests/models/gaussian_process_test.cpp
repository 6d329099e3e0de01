#include "npzoo/models/applications/gaussian_process/gaussian_process.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "npzoo/datasets/gaussian_processes/posterior.h"
#include "npzoo/engine/cancellation.h"
#include "npzoo/models/applications/gaussian_process/gp_fit.h"
#include "npzoo/models/applications/gaussian_process/gp_periods.h"
#include "npzoo/models/applications/gaussian_process/gp_search.h"
#include "tests/models/gp_fixtures.h"
#include "tests/testing.h"

using namespace npzoo;
using namespace npzoo::testing;

namespace {

double largest_difference(const std::vector<double>& a, const std::vector<double>& b) {
  REQUIRE(a.size() == b.size());
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::abs(a[i] - b[i]));
  return largest;
}

}  // namespace

TEST_CASE("gaussian process: kernels are read by their names, and other texts are refused") {
  CHECK(GpKernel::parse("matern-3/2*periodic +linear").text() == "matern-3/2 * periodic + linear");
  CHECK(GpKernel::parse("rbf").terms == std::vector<std::vector<GpFactor>>{{GpFactor::rbf}});
  for (const char* text : {"matern", "", "rbf +", "rbf ** rbf"})
    CHECK(error_of([&] { GpKernel::parse(text); }) ==
          std::string("[gp] kernel '") + text +
              "' found, expected sums and products of matern-1/2, matern-3/2, matern-5/2, rbf, periodic and linear, "
              "such as 'matern-3/2 * periodic + linear'");
  CHECK(error_of([] { GpCovariance(GpKernel::parse("rbf"), std::vector<std::size_t>(257)); }) ==
        "[gp] 257 inputs found, expected 1 to 256");
}

TEST_CASE("gaussian process: slopes of the evidence are central differences, with a trend and shared lengthscales") {
  const std::vector<double> x = uniform_places(3 * 12, 1), y = uniform_places(12, 2);
  for (const char* text : {"matern-1/2", "matern-3/2", "matern-5/2", "rbf", "matern-3/2 * periodic + linear",
                           "rbf * linear + matern-5/2 * matern-1/2"})
    for (const int trend : {0, 1, 2}) {  // none, of flat priors, and one with three normal slopes
      using Slopes = std::vector<std::size_t>;
      const GpCovariance covariance(GpKernel::parse(text), {0, 1, 1}, trend == 2 ? Slopes{0, 1, 1} : Slopes{});
      GpBlock block{x, y};
      for (std::size_t i = 0; trend > 0 && i < y.size(); ++i) {
        block.trend.insert(block.trend.end(), {1, x[3 * i + 1]});
        if (trend == 2) block.trend.insert(block.trend.end(), {x[3 * i], x[3 * i + 2]});
      }
      std::vector<double> logs;
      for (std::size_t k = 0; k < covariance.parameters().size(); ++k)
        logs.push_back(-0.7 + 0.2 * std::sin(static_cast<double>(k)));
      const GpEvidence evidence = log_evidence(covariance, logs, block);
      for (std::size_t k = 0; k < logs.size(); ++k) {
        const auto moved = [&](double by) {
          std::vector<double> other = logs;
          other[k] += by;
          return log_evidence(covariance, other, block).log_density;
        };
        CAPTURE(text);
        CHECK(evidence.d_log[k] == doctest::Approx((moved(1e-5) - moved(-1e-5)) / 2e-5).epsilon(1e-6));
      }
    }
}

TEST_CASE("gaussian process: normal slopes have the evidence of a linear kernel") {
  const std::vector<double> x = uniform_places(15, 31), y = uniform_places(15, 32);
  GpBlock constant{x, y}, slope{x, y};
  constant.trend.assign(15, 1);
  for (const double at : x) slope.trend.insert(slope.trend.end(), {1, at});
  const GpEvidence kernel = log_evidence(GpCovariance(GpKernel::parse("rbf + linear"), {0}),
                                         std::vector<double>{-0.3, -1, 0.4, -2}, constant);
  const GpEvidence prior =
      log_evidence(GpCovariance(GpKernel::parse("rbf"), {0}, {0}), std::vector<double>{-0.3, -1, 0.4, -2}, slope);
  CHECK(prior.log_density == doctest::Approx(kernel.log_density).epsilon(1e-10));
  for (std::size_t k = 0; k < 4; ++k) CHECK(prior.d_log[k] == doctest::Approx(kernel.d_log[k]).epsilon(1e-8));
}

TEST_CASE("gaussian process: posterior, evidence and covariance equal the exact posterior of the data sets") {
  const std::vector<double> x = uniform_places(2 * 25, 3), y = uniform_places(25, 4),
                            targets = uniform_places(2 * 9, 5);
  for (const auto& [text, kind] : {std::pair{"rbf", KernelKind::rbf},
                                   {"matern-3/2", KernelKind::matern32},
                                   {"matern-5/2", KernelKind::matern52}}) {
    const GpPosterior exact({.kind = kind, .lengthscale = 0.4, .scale = 1.3}, {x, 2}, y, 0.1);
    const GpPoints points{.dims = 2, .x = x, .y = y, .group_of = {0, 0}};
    const std::vector<double> values{1.3, 0.4, 0.1};
    const GaussianProcess process = GaussianProcess::with(points, values, {.kernel = text, .mean = GpMean::zero});
    const GpFigures found = process.predict(targets);
    GpMarginals known = exact.marginals({targets, 2}, 0.1);
    CHECK(largest_difference(found.mean, known.mean) < 1e-10);
    for (double& variance : known.variance) variance = std::sqrt(variance);
    CHECK(largest_difference(found.std, known.variance) < 1e-10);
    const std::vector<double> cov = process.covariance(targets);
    for (std::size_t i = 0; i < 9; ++i) CHECK(std::sqrt(cov[i * 10]) == doctest::Approx(found.std[i]).epsilon(1e-10));
    std::vector<double> logs;
    for (const double value : values) logs.push_back(std::log(value));
    CHECK(log_evidence(GpCovariance(GpKernel::parse(text), {0, 0}), logs, {x, y}).log_density ==
          doctest::Approx(exact.log_evidence()).epsilon(1e-10));
  }
}

TEST_CASE("gaussian process: a flat constant and a normal slope equal a kernel with both") {
  const std::vector<double> x = uniform_places(20, 6), targets = uniform_places(7, 7);
  std::vector<double> y;
  for (const double at : x) y.push_back(5 + 3 * at + std::sin(9 * at));
  const GpPoints points{.dims = 1, .x = x, .y = y, .in_mean = {true}};
  const GpFigures flat =
      GaussianProcess::with(points, std::vector<double>{1, 0.2, 1.5, 0.1}, {.kernel = "matern-5/2"}).predict(targets);
  // A constant of deviation 1000 and a slope of deviation 1.5.
  const auto wide_kernel = [](double a, double b) {
    const double r = std::sqrt(5.0) * std::abs(a - b) / 0.2;
    return 1e6 + 1.5 * 1.5 * a * b + (1 + r + r * r / 3) * std::exp(-r);
  };
  const std::size_t n = x.size(), m = targets.size();
  std::vector<double> k(n * n), cross(n * m), white = y;
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) k[i * n + j] = wide_kernel(x[i], x[j]) + (i == j ? 0.01 : 0);
    for (std::size_t j = 0; j < m; ++j) cross[i * m + j] = wide_kernel(x[i], targets[j]);
  }
  const SymmetricFactor factor(std::move(k), static_cast<std::int64_t>(n));
  factor.solve_lower(white);
  factor.solve_lower(cross);
  for (std::size_t j = 0; j < m; ++j) {
    double mean = 0, variance = wide_kernel(targets[j], targets[j]) + 0.01;
    for (std::size_t i = 0; i < n; ++i) {
      mean += cross[i * m + j] * white[i];
      variance -= cross[i * m + j] * cross[i * m + j];
    }
    CHECK(flat.mean[j] == doctest::Approx(mean).epsilon(1e-5));
    CHECK(flat.std[j] == doctest::Approx(std::sqrt(variance)).epsilon(1e-4));
  }
}

TEST_CASE("gaussian process: the slope of a covariate is found with its deviation") {
  const std::vector<double> x = uniform_places(2 * 120, 10);
  std::vector<double> y;
  for (std::size_t i = 0; i < 120; ++i) y.push_back(std::sin(6 * x[2 * i]) - 4 * x[2 * i + 1]);
  const GpPoints points{.dims = 2, .x = x, .y = y, .in_mean = {false, true}};
  const GpFit found = GaussianProcess::fit(points, {.kernel = "matern-5/2"}).found();
  REQUIRE(found.slopes.size() == 1);
  CHECK(found.slopes[0].input == 1);
  CHECK(std::abs(found.slopes[0].value + 4) < 3 * found.slopes[0].std + 0.05);
  REQUIRE(found.slope_covariance.size() == 1);
  CHECK(std::sqrt(found.slope_covariance[0]) == doctest::Approx(found.slopes[0].std));
  CHECK(found.values[3].parameter.kind == GpParameter::Kind::slope);
}

TEST_CASE("gaussian process: errors of slopes are what they add to the variance, also from near points") {
  for (const std::size_t n : {std::size_t{60}, std::size_t{600}}) {
    const std::vector<double> x = uniform_places(2 * n, 33), targets{0.5, 0.5, 0.5, 3, 2, -4};
    std::vector<double> y;
    for (std::size_t i = 0; i < n; ++i) y.push_back(std::sin(6 * x[2 * i]) - 4 * x[2 * i + 1]);
    const GpPoints points{.dims = 2, .x = x, .y = y, .group_of = {0, kMeanOnly}, .in_mean = {false, true}};
    GpPoints without = points;
    without.in_mean = {false, false};
    const GaussianProcess process =
        GaussianProcess::with(points, std::vector<double>{1, 0.3, 5, 0.4}, {.kernel = "rbf"});
    const std::vector<double> errors = process.slope_errors(targets);
    const GpFigures all = process.predict(targets),
                    known = GaussianProcess::with(without, std::vector<double>{1, 0.3, 0.4}, {.kernel = "rbf"})
                                .predict(targets);
    REQUIRE(errors.size() == 3);
    for (std::size_t i = 1; i < 3; ++i) {
      const double added = all.std[i] * all.std[i] - known.std[i] * known.std[i];
      CHECK(errors[i] * errors[i] / added > 0.99);
      CHECK(errors[i] * errors[i] / added < 1.06);  // wider, as the noise is not known
    }
    CHECK(std::abs(errors[0]) < 0.2 * std::abs(errors[1]));
    CHECK(GaussianProcess::with(without, std::vector<double>{1, 0.3, 0.4}, {.kernel = "rbf"})
              .slope_errors(targets)
              .empty());
  }
}

TEST_CASE("gaussian process: an input without variation has no slope, and slopes of a group share a deviation") {
  std::vector<double> x, y;
  for (int i = 0; i < 12; ++i) {
    x.insert(x.end(), {static_cast<double>(i), 7, i % 3 == 0 ? 1.0 : 0.0, i % 3 == 1 ? 1.0 : 0.0, 0});
    y.push_back(i % 3 + 0.01 * (i * i % 5));
  }
  const GpPoints points{.dims = 5,
                        .x = x,
                        .y = y,
                        .group_of = {0, kMeanOnly, kMeanOnly, kMeanOnly, kMeanOnly},
                        .in_mean = {false, true, true, true, true},
                        .slope_groups = {0, 1, 2, 2, 2}};
  const GpFit found = GaussianProcess::fit(points, {.kernel = "rbf"}).found();
  REQUIRE(found.slopes.size() == 3);
  CHECK(found.slopes[0].input == 2);
  CHECK(found.slopes[2].input == 4);  // a category that the points lack, beside others
  CHECK(found.slopes[2].value == doctest::Approx(0));
  CHECK(found.slopes[2].std == doctest::Approx(found.values[2].value).epsilon(1e-6));
  CHECK(found.values.size() == 4);
}

TEST_CASE("gaussian process: a periodic kernel continues a cycle beyond the points") {
  std::vector<double> x, y;
  for (int i = 0; i < 60; ++i) {
    x.push_back(i);
    y.push_back(std::sin(2 * 3.14159265 * i / 7) + (i % 7 == 0 ? 1 : 0));
  }
  const GaussianProcess process =
      GaussianProcess::fit({.dims = 1, .x = x, .y = y}, {.kernel = "matern-3/2 * periodic"});
  const std::vector<double> targets{63, 64, 65};
  const GpFigures ahead = process.predict(targets);
  for (std::size_t i = 0; i < 3; ++i) CHECK(ahead.mean[i] == doctest::Approx(y[7 * 8 + i]).epsilon(0.1));
}

TEST_CASE(
    "gaussian process: a periodic kernel alone finds the period and the noise of sines, of few cycles and of many") {
  for (const double period : {25.6, 11.3, 4.7}) {
    CAPTURE(period);
    Random random(31);
    std::vector<double> x, y;
    for (int i = 0; i < 140; ++i) {
      if (i >= 60 && i < 75) continue;
      x.push_back(i);
      y.push_back(5 * std::sin(2 * 3.14159265 * i / period + 1) + 0.5 * random.normal());
    }
    const GpFit found = GaussianProcess::fit({.dims = 1, .x = x, .y = y}, {.kernel = "periodic"}).found();
    CHECK(found.values[1].parameter.kind == GpParameter::Kind::period);
    CHECK(found.values[1].value == doctest::Approx(period).epsilon(0.005));
    CHECK(found.noise() == doctest::Approx(0.5).epsilon(0.2));
  }
}

TEST_CASE("gaussian process: likely periods are refined, and a line and jagged cycles do not hide them") {
  const double cycle[] = {3, -7, 1, 9, 8, -2, -9, 4, -6, 2, -1, 7};
  Random random(32);
  std::vector<double> x, sine, jagged;
  for (int i = 0; i < 120; ++i) {
    x.push_back(i / 120.0 - 0.5);
    sine.push_back(std::sin(2 * 3.14159265 * i / 8.7) + 0.3 * random.normal());
    jagged.push_back(0.5 * i + cycle[i % 12] + 0.5 * random.normal());
  }
  CHECK(likely_periods(x, sine).front() == doctest::Approx(8.7 / 120).epsilon(0.003));
  const auto near = [](double period) { return std::abs(120 * period - 12) < 0.03; };
  CHECK(std::ranges::any_of(likely_periods(x, jagged), near));
  CHECK(likely_periods(std::span(x).first(2), std::span(sine).first(2)).empty());
  CHECK(likely_periods(std::vector<double>(9), std::span(sine).first(9)).size() <= 3);  // nine values at one place
}

TEST_CASE("gaussian process: an ascent from the slope of a narrow peak does not end where it began") {
  const auto peak = [](std::span<const double> at) {
    const double off = (at[0] - 1) / 1e-3;
    return GpEvidence{-0.5 * off * off, {-off / 1e-3}};
  };
  const LogNormal wide{0, 10, -5, 5};
  for (const double start : {0.998, 1.0025}) {
    const GpOptimum found = climb_evidence(peak, std::span(&wide, 1), {start}, {.steps = 80, .least_gain = 0.02});
    CHECK(std::abs(found.logs[0] - 1) < 5e-4);
    const GpOptimum careful = climb_evidence(peak, std::span(&wide, 1), {start}, {.steps = 80, .first_steps = {1e-4}});
    CHECK(std::abs(careful.logs[0] - 1) < 1e-5);
  }
}

TEST_CASE("gaussian process: beyond the exact size the nearest points answer, each target by itself") {
  const std::vector<double> x = uniform_places(2 * 600, 11), targets = uniform_places(2 * 5, 12);
  std::vector<double> y;
  for (std::size_t i = 0; i < 600; ++i) y.push_back(std::sin(7 * x[2 * i]) * std::cos(5 * x[2 * i + 1]));
  const GpPoints points{.dims = 2, .x = x, .y = y};
  const std::vector<double> values{1, 0.3, 0.4, 0.05};
  const GpFigures whole = GaussianProcess::with(points, values, {.kernel = "matern-3/2"}).predict(targets);
  const GaussianProcess local =
      GaussianProcess::with(points, values, {.kernel = "matern-3/2", .largest_exact = 500, .neighbours = 60});
  CHECK_FALSE(local.exact());
  const GpFigures near = local.predict(targets);
  CHECK(largest_difference(whole.mean, near.mean) < 0.01);
  CHECK(largest_difference(whole.std, near.std) < 0.005);
  const GpFigures alone = local.predict(std::span(targets).subspan(4, 2));
  CHECK(alone.mean[0] == near.mean[2]);
  CHECK(alone.std[0] == near.std[2]);
  CHECK(error_of([&] { local.covariance(targets); }) ==
        "[gp] 600 points found for a covariance of targets, expected at most 500");
}

TEST_CASE("gaussian process: the values of a fit give the fitted process, to the last bit") {
  for (const std::size_t n : {std::size_t{2}, std::size_t{40}, std::size_t{450}})
    for (const char* kernel : {"auto", "rbf + linear"}) {
      const std::vector<double> x = uniform_places(2 * n, 21), targets = uniform_places(2 * 6, 22);
      std::vector<double> y;
      for (std::size_t i = 0; i < n; ++i) y.push_back(1e3 + std::sin(7 * x[2 * i]) + x[2 * i + 1]);
      const GpPoints points{.dims = 2, .x = x, .y = y, .in_mean = {false, true}};
      const GpOptions options{.kernel = kernel, .largest_exact = 440};
      const GaussianProcess fitted = GaussianProcess::fit(points, options);
      std::vector<double> values;
      for (const GpValue& value : fitted.found().values) values.push_back(value.value);
      GpOptions known = options;
      known.kernel = fitted.found().kernel.text();
      const GaussianProcess again = GaussianProcess::with(points, values, known);
      const GpFigures expected = fitted.predict(targets), found = again.predict(targets);
      CHECK(found.mean == expected.mean);
      CHECK(found.std == expected.std);
      if (fitted.exact()) CHECK(again.covariance(targets) == fitted.covariance(targets));
      values[0] = 0;
      CHECK(error_of([&] { GaussianProcess::with(points, values, known); }) ==
            "[gp] the hyper-parameter 0 found, expected a positive number");
      CHECK(error_of([&] { GaussianProcess::with(points, std::vector<double>{1}, known); }) ==
            fmt::format("[gp] 1 hyper-parameters found, {} needs {}", known.kernel, values.size()));
    }
}

TEST_CASE("gaussian process: few points, equal values and equal places have finite answers") {
  const std::vector<double> targets{0.5, 3};
  for (const std::vector<double>& y : {std::vector<double>{}, {4}, {4, 6}, {5, 5, 5, 5, 5}, {0, 0, 0, 0}}) {
    for (const bool one_place : {false, true}) {
      std::vector<double> x(y.size());
      if (!one_place) std::iota(x.begin(), x.end(), 0.0);
      const GpFigures found = GaussianProcess::fit({.dims = 1, .x = x, .y = y}).predict(targets);
      for (std::size_t i = 0; i < 2; ++i) {
        CAPTURE(y.size());
        CHECK(std::isfinite(found.mean[i]));
        CHECK(found.std[i] > 0);
        CHECK(std::isfinite(found.std[i]));
      }
    }
  }
  const GpFigures usual =
      GaussianProcess::fit({.dims = 1}, {.usual_mean = 50, .usual_std = 7}).predict(std::vector<double>{1});
  CHECK(usual.mean[0] == 50);
  CHECK(usual.std[0] == doctest::Approx(7).epsilon(0.01));
}

TEST_CASE("gaussian process: samples have the predicted means and covariances") {
  const std::vector<double> x{0, 1, 2, 3, 4}, y{0, 1, 0, -1, 0}, targets{1.4, 1.5};
  const GaussianProcess process =
      GaussianProcess::with({.dims = 1, .x = x, .y = y}, std::vector<double>{1, 1.5, 0.1}, {.kernel = "rbf"});
  Random random(13);
  const std::vector<double> drawn = process.sample(targets, 4000, random), cov = process.covariance(targets);
  const GpFigures known = process.predict(targets);
  double mean = 0, product = 0;
  for (std::size_t k = 0; k < 4000; ++k) {
    mean += drawn[k] / 4000;
    product += (drawn[k] - known.mean[0]) * (drawn[4000 + k] - known.mean[1]) / 4000;
  }
  CHECK(mean == doctest::Approx(known.mean[0]).epsilon(0.02));
  CHECK(product == doctest::Approx(cov[1]).epsilon(0.1));
}

TEST_CASE("gaussian process: sizes that do not fit are refused") {
  const std::vector<double> x{0, 1, 2}, y{0, 1};
  CHECK(error_of([&] { GaussianProcess::fit({.dims = 1, .x = x, .y = y}); }) ==
        "[gp] 3 inputs and 2 values found, expected 1 inputs for each value");
  CHECK(error_of([&] { GaussianProcess::fit({.dims = 3, .x = x, .y = std::span(y).first(1), .group_of = {0}}); }) ==
        "[gp] groups of 1 inputs found, expected 3");
  CHECK(error_of([&] { GaussianProcess::fit({.dims = 3, .x = x, .y = std::span(y).first(1), .in_mean = {true}}); }) ==
        "[gp] 1 inputs of the mean found, expected 3");
  CHECK(error_of([&] { GaussianProcess::fit({.dims = 3, .x = x, .y = std::span(y).first(1), .slope_groups = {0}}); }) ==
        "[gp] groups of 1 slopes found, expected 3");
}
