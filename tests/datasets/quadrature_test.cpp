#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

#include "npzoo/datasets/gaussian_processes/log_sum.h"
#include "npzoo/datasets/gaussian_processes/quadrature.h"
#include "npzoo/engine/error.h"
#include "tests/testing.h"

using namespace npzoo;
using namespace npzoo::testing;

namespace {

double log_integral(const std::vector<QuadratureNode>& nodes) {
  LogSum sum;
  for (const QuadratureNode& node : nodes) sum.add(node.log_weight);
  return sum.value();
}

/// Returns the mean of a side under the density of the nodes.
double mean_of(const std::vector<QuadratureNode>& nodes, std::size_t side) {
  double sum = 0;
  for (const QuadratureNode& node : nodes) sum += std::exp(node.log_weight - log_integral(nodes)) * node.at[side];
  return sum;
}

/// Log density of a Gaussian; its integral over the cube is 1 but for what is outside.
double log_gaussian(double x, double mean, double sd) {
  return -0.5 * (x - mean) * (x - mean) / (sd * sd) - std::log(sd * std::sqrt(2 * std::numbers::pi));
}

}  // namespace

TEST_CASE("[quadrature] Gauss-Legendre rules are exact for polynomials of degrees below 2n") {
  for (const int n : {1, 2, 3, 8, 33, 64}) {
    CAPTURE(n);
    const GaussLegendre rule = gauss_legendre(n);
    REQUIRE(rule.nodes.size() == static_cast<std::size_t>(n));
    for (int i = 0; i < n; ++i) {
      CHECK(rule.nodes[i] == doctest::Approx(-rule.nodes[n - 1 - i]).epsilon(1e-15));
      if (i > 0) CHECK(rule.nodes[i - 1] < rule.nodes[i]);
    }
    for (int degree = 0; degree <= 2 * n; ++degree) {
      double sum = 0;
      for (int i = 0; i < n; ++i) sum += rule.weights[i] * std::pow(rule.nodes[i], degree);
      const double error = std::abs(sum - (degree % 2 == 0 ? 2.0 / (degree + 1) : 0));
      CAPTURE(degree);
      if (degree < 2 * n) CHECK(error < 1e-14);
      if (degree == 2 * n && n < 8) CHECK(error > 1e-4);
    }
  }
  CHECK(gauss_legendre(2).nodes[1] == doctest::Approx(1 / std::sqrt(3.0)).epsilon(1e-15));
  CHECK_THROWS_WITH_AS(gauss_legendre(0), "[gauss-legendre] 0 nodes, expected at least 1", Error);
}

TEST_CASE("[quadrature] sums of exponentials neither overflow nor underflow") {
  LogSum none, sum;
  CHECK(none.value() == -kInfinity);
  none.add(-kInfinity);
  CHECK(none.value() == -kInfinity);
  for (const double x : {-2000.0, 1000.0, 1001.0, -kInfinity, 999.0}) sum.add(x);
  CHECK(sum.value() == doctest::Approx(1001 + std::log(1 + std::exp(-1) + std::exp(-2))).epsilon(1e-15));
  sum.add(std::nan(""));
  CHECK(std::isnan(sum.value()));
}

TEST_CASE("[quadrature] a peak is resolved however sharp it is, in one, two and three dimensions") {
  for (const double sd : {0.2, 0.02, 0.002}) {
    CAPTURE(sd);
    const auto density = [sd](std::span<const double> u) {
      double sum = 0;
      for (std::size_t k = 0; k < u.size(); ++k) sum += log_gaussian(u[k], 0.3 + 0.2 * static_cast<double>(k), sd);
      return sum;
    };
    for (const std::size_t dims : {1, 2, 3}) {
      CAPTURE(dims);
      if (dims == 3 && sd < 0.01) continue;  // slow
      const auto nodes = adaptive_quadrature(density, {.panels = std::vector<std::int64_t>(dims, 2), .nodes = 6});
      double mass = 1;  // within the cube
      for (std::size_t k = 0; k < dims; ++k) {
        const double mean = 0.3 + 0.2 * static_cast<double>(k), scale = sd * std::numbers::sqrt2;
        mass *= (std::erf((1 - mean) / scale) + std::erf(mean / scale)) / 2;
      }
      CHECK(std::exp(log_integral(nodes)) == doctest::Approx(mass).epsilon(2e-4));
      if (sd < 0.1)
        CHECK(mean_of(nodes, dims - 1) == doctest::Approx(0.1 + 0.2 * static_cast<double>(dims)).epsilon(1e-4));
    }
  }
}

TEST_CASE("[quadrature] a lower tolerance and more nodes converge") {
  const auto density = [](std::span<const double> u) { return log_gaussian(u[0], 0.4, 0.01); };
  const auto error = [&](int nodes, double tolerance) {
    return std::abs(
        log_integral(adaptive_quadrature(density, {.panels = {1}, .nodes = nodes, .tolerance = tolerance})));
  };
  CHECK(error(4, 1e-1) > 5e-4);
  CHECK(error(4, 1e-4) < 5e-5);
  CHECK(error(12, 1e-7) < 1e-9);
}

TEST_CASE("[quadrature] two peaks, and one that is found only if its place is given") {
  const auto two = [](std::span<const double> u) {
    LogSum sum;
    sum.add(log_gaussian(u[0], 0.2, 0.01));
    sum.add(std::log(3) + log_gaussian(u[0], 0.7, 0.01));
    return sum.value();
  };
  const auto nodes = adaptive_quadrature(two, {.panels = {8}});
  CHECK(log_integral(nodes) == doctest::Approx(std::log(4)).epsilon(1e-4));
  CHECK(mean_of(nodes, 0) == doctest::Approx(0.25 * 0.2 + 0.75 * 0.7).epsilon(1e-4));

  const double at = 0.123456;
  const auto narrow = [at](std::span<const double> u) {
    LogSum sum;
    sum.add(0);
    sum.add(log_gaussian(u[0], at, 1e-5));
    return sum.value();
  };
  CHECK(log_integral(adaptive_quadrature(narrow, {.panels = {1}})) == doctest::Approx(0));
  const QuadratureRule told{.panels = {1}, .peak = {at}, .peak_width = {1e-4}};
  CHECK(log_integral(adaptive_quadrature(narrow, told)) == doctest::Approx(std::log(2)).epsilon(1e-4));
}

TEST_CASE("[quadrature] no dimensions, nodes that mean nothing, and integrals that are none") {
  const auto point = adaptive_quadrature([](std::span<const double>) { return -7.5; }, {});
  REQUIRE(point.size() == 1);
  CHECK(point[0].at.empty());
  CHECK(point[0].log_weight == -7.5);

  const auto half = [](std::span<const double> u) { return u[0] < 0.5 ? 0.0 : -kInfinity; };
  const auto nodes = adaptive_quadrature(half, {.panels = {2}});
  CHECK(nodes.size() == 8);
  CHECK(log_integral(nodes) == doctest::Approx(std::log(0.5)).epsilon(1e-14));

  CHECK_THROWS_WITH_AS(adaptive_quadrature([](std::span<const double>) { return -kInfinity; }, {.panels = {1}}),
                       "[quadrature] the logarithm of an integral is -inf, expected a finite number", Error);
  CHECK_THROWS_WITH_AS(adaptive_quadrature([](std::span<const double>) { return std::nan(""); }, {.panels = {1}}),
                       "[quadrature] the logarithm of an integral is nan, expected a finite number", Error);
  CHECK_THROWS_WITH_AS(adaptive_quadrature(half, {.panels = {1}, .nodes = 3}),
                       "[quadrature] 3 nodes along a side, expected at least 4", Error);
}
