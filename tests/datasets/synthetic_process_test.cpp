#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "npzoo/datasets/kinds/synthetic/process.h"
#include "tests/testing.h"

using namespace npzoo;
using namespace npzoo::testing;

namespace {

constexpr std::int64_t kDraws = 20000;
/// Bound on the largest error below, in standard errors: exceeded with probability 1e-5 for some 400 covariances.
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
      largest =
          std::max(largest, error / std::sqrt(product / static_cast<double>(draws) + 1e-12));  // what a jitter adds
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

TEST_CASE("[synthetic] draws of several inputs: exact by Cholesky, on average over frequencies by random features") {
  const std::vector<double> plane{0, 0, 0.3, 0.1, 0.3, 0.1, -1, 2, 1.5, -0.7, 1.6, -0.7, 0, 3};
  const std::vector<double> space{0, 0, 0, 0.3, 0.1, -0.2, -1, 2, 1, 1.5, -0.7, 0.2, 1.6, -0.7, 0.1};
  std::vector<Term> terms;
  for (const auto base : {Term::Base::matern12, Term::Base::matern32, Term::Base::matern52, Term::Base::rbf})
    terms.push_back(term(base, 0.9, 1.3));
  terms.push_back({.base = Term::Base::rbf, .scales = rational_quadratic_scales(0.5, 0.7)});
  terms.push_back(terms[1]);
  terms.back().period = 1.1;
  terms.back().harmonics = {0.1, 0.6, 0.3};
  terms.push_back({.period = 1.3, .harmonics = {0.2, 0.8}});
  terms.push_back({.modulation = Term::Modulation::step, .origin = 0.2});
  for (std::size_t i = 0; i < terms.size(); ++i) {
    CAPTURE(i);
    if (i >= 5) terms[i].direction = {0.6, 0.8};
    Process each(2, {terms[i]}, 0);
    each.set_axes({1.5, 0.2, -0.3, 0.7});
    CHECK(largest_error(each, {plane, 2}, 0, 5000) < kErrors);
    CHECK(largest_error(each, {plane, 2}, 100, 5000) < kErrors);
    if (i >= 5) terms[i].direction = {0.48, 0.64, 0.6};
    if (i % 2 == 0) terms[i].stretch = {0.4, 2.5, 1};
    CHECK(largest_error({3, {terms[i]}, 0}, {space, 3}, 0, 5000) < kErrors);
  }
}

TEST_CASE("[synthetic] a stretched term is one of other inputs") {
  const std::vector<double> a{0.3, -1, 2}, b{1, 0.5, 0.5};
  const std::vector<double> a_shrunk{0.6, -0.25, 2}, b_shrunk{2, 0.125, 0.5};
  for (const auto base : {Term::Base::matern12, Term::Base::matern52, Term::Base::rbf}) {
    Term stretched = term(base, 1.3, 0.7);
    const Process plain(3, {stretched}, 0);
    stretched.stretch = {0.5, 4, 1};
    CHECK(Process(3, {stretched}, 0).between({a, 3}, {b, 3})[0] ==
          doctest::Approx(plain.between({a_shrunk, 3}, {b_shrunk, 3})[0]).epsilon(1e-14));
  }
}

TEST_CASE("[synthetic] kernels in closed form") {
  for (const double lengthscale : {0.2, 0.5, 1.0, 3.0}) {
    CAPTURE(lengthscale);
    const Term cycle{.period = 1.7, .harmonics = periodic_harmonics(lengthscale)};
    const Term quadratic{.base = Term::Base::rbf, .scales = rational_quadratic_scales(lengthscale, 0.3)};
    const Term sharper{.base = Term::Base::rbf, .scales = rational_quadratic_scales(lengthscale, 4)};
    for (double d = 0; d < 6; d += 0.13) {
      CAPTURE(d);
      const double s = std::sin(std::numbers::pi * d / 1.7);
      CHECK(std::abs(cycle.cycle_at(d) - std::exp(-2 * s * s / (lengthscale * lengthscale))) < 3e-8);
      const auto closed = [&](double alpha) {
        return std::pow(1 + d * d / (2 * alpha * lengthscale * lengthscale), -alpha);
      };
      CHECK(std::abs(quadratic.base_at(d * d) - closed(0.3)) < 2e-3);
      CHECK(std::abs(sharper.base_at(d * d) - closed(4)) < 1e-4);
    }
  }
  const double r = 0.7 / 0.4;
  CHECK(term(Term::Base::matern12, 0.4).base_at(0.49) == doctest::Approx(std::exp(-r)));
  CHECK(term(Term::Base::matern32, 0.4).base_at(0.49) ==
        doctest::Approx(
            covariance({KernelKind::matern32, 0.4}, {std::vector<double>{0}}, {std::vector<double>{0.7}})[0]));
  CHECK(term(Term::Base::matern52, 0.4).base_at(0.49) ==
        doctest::Approx(
            covariance({KernelKind::matern52, 0.4}, {std::vector<double>{0}}, {std::vector<double>{0.7}})[0]));
  CHECK(term(Term::Base::rbf, 0.4).base_at(0.49) ==
        doctest::Approx(covariance({KernelKind::rbf, 0.4}, {std::vector<double>{0}}, {std::vector<double>{0.7}})[0]));
}

TEST_CASE("[synthetic] covariances in matrices: symmetric, of one formula, with the variances on the diagonal") {
  Process process(2, {term(Term::Base::matern32, 0.6), {.variance = 0.5, .modulation = Term::Modulation::linear}}, 0.1);
  process.set_axes({0.8, 0.6, -0.6, 0.8});
  process.set_warp({0.5, 2, 0.3});
  const std::vector<double> a{0.1, 0.7, -1, 0.4, 1.3, -1.1}, b{0.1, 0.7, 2, 2};
  const std::vector<double> of = process.of({a, 2}), between = process.between({a, 2}, {b, 2}),
                            variances = process.variances({a, 2});
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(of[i * 3 + i] == variances[i]);
    CHECK(of[i * 3] == of[i]);
    CHECK(between[i * 2] == doctest::Approx(of[i * 3]));
  }
}
