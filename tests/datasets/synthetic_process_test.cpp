#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "datasets/synthetic/process.h"
#include "tests/testing.h"

using namespace npzoo;
using namespace npzoo::testing;

namespace {

constexpr std::int64_t kDraws = 20000;
/// Of the largest of the errors below, in standard errors: a chance of 1e-5 for some 400 covariances.
constexpr double kErrors = 5.5;

Term term(Term::Base base, double lengthscale, double variance = 1) {
  return {.variance = variance, .base = base, .scales = {{lengthscale, 1}}};
}

/// How far the mean products of values of many draws are from the covariances, in standard errors of Gaussian values
/// with those covariances; the largest.
double largest_error(const Process& process, Inputs x, std::int64_t dense, std::int64_t draws = kDraws) {
  const std::int64_t n = x.size();
  Random random(7, 3);
  std::vector<double> sum(static_cast<std::size_t>(n * n));
  for (std::int64_t draw = 0; draw < draws; ++draw) {
    const std::vector<double> f = process.draw(x, dense, random);
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t j = 0; j < n; ++j) sum[i * n + j] += f[i] * f[j];
  }
  const std::vector<double> k = process.of(x);
  double largest = 0;
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < n; ++j) {
      const double product = k[i * n + i] * k[j * n + j] + k[i * n + j] * k[i * n + j];
      const double error = std::abs(sum[i * n + j] / static_cast<double>(draws) - k[i * n + j]);
      largest = std::max(largest, error / std::sqrt(product / static_cast<double>(draws) + 1e-20));
    }
  return largest;
}

/// Some close together, one twice, not in order.
const std::vector<double> kLine{0.5, -2, -1.999, 0.1, 0.1, 1.7, 2, -0.6, 0.101, 3.5};

}  // namespace

TEST_CASE("[synthetic] draws of one input have the covariances of their kernels") {
  const std::vector<double> cycle = periodic_harmonics(0.7), any{0, 0.5, 0.2, 0.3};
  for (const auto base : {Term::Base::matern12, Term::Base::matern32, Term::Base::matern52, Term::Base::rbf})
    for (const double lengthscale : {0.05, 0.8, 6.0}) {
      CAPTURE(static_cast<int>(base));
      CAPTURE(lengthscale);
      Term plain = term(base, lengthscale, 1.7);
      CHECK(largest_error({1, {plain}, 0}, {kLine}, 0) < kErrors);
      plain.period = 0.9;
      plain.harmonics = lengthscale < 1 ? cycle : any;
      CHECK(largest_error({1, {plain}, 0}, {kLine}, 0) < kErrors);
    }
  const Term quadratic{.base = Term::Base::rbf, .scales = rational_quadratic_scales(0.5, 0.7)};
  const Term periodic{.period = 1.3, .harmonics = cycle};
  const Term line{.variance = 0.4, .modulation = Term::Modulation::linear, .origin = 0.3};
  const Term step{.variance = 2, .modulation = Term::Modulation::step, .origin = 0.1};
  Term growing = term(Term::Base::matern32, 0.5);
  growing.modulation = Term::Modulation::linear;
  for (const Term& each : {quadratic, periodic, line, step, growing})
    CHECK(largest_error({1, {each}, 0}, {kLine}, 0) < kErrors);
  Process all(1, {quadratic, periodic, line, step, growing}, 0);
  all.set_warp({0.8, 1.5, 1});
  CHECK(largest_error(all, {kLine}, 0) < kErrors);
}
