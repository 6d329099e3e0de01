#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <numbers>
#include <vector>

#include "npzoo/datasets/gaussian_processes/covariance.h"
#include "npzoo/engine/error.h"
#include "npzoo/engine/random.h"

using namespace npzoo;

namespace {

double at_distance(const Kernel& kernel, double distance) {
  const std::array<double, 2> a{1, -1}, b{1 + 0.6 * distance, -1 + 0.8 * distance};
  return covariance(kernel, {a, 2}, {b, 2})[0];
}

}  // namespace

TEST_CASE("[gp kernel] values follow the formulas, in the plane as well") {
  constexpr double l = 0.7, s = 1.3, p = 0.9, m = 0.2;
  const Kernel base{.lengthscale = l, .scale = s, .period = p, .second_lengthscale = m};
  const auto with = [&base](KernelKind kind) {
    Kernel kernel = base;
    kernel.kind = kind;
    return kernel;
  };
  for (double d : {1e-9, 0.1, 0.5, 2.0, 40.0}) {
    const double r3 = std::sqrt(3.0) * d / l, r5 = std::sqrt(5.0) * d / l;
    const double wave = std::sin(std::numbers::pi * d / p);
    const auto expected = [d](double value) { return doctest::Approx(value).epsilon(1e-13 * (1 + d)); };
    CHECK(at_distance(with(KernelKind::rbf), d) == expected(s * s * std::exp(-d * d / (2 * l * l))));
    CHECK(at_distance(with(KernelKind::matern32), d) == expected(s * s * (1 + r3) * std::exp(-r3)));
    CHECK(at_distance(with(KernelKind::matern52), d) ==
          expected(s * s * (1 + r5 + 5 * d * d / (3 * l * l)) * std::exp(-r5)));
    CHECK(at_distance(with(KernelKind::periodic), d) == expected(s * s * std::exp(-2 * wave * wave / (l * l))));
    const double wide = std::exp(-d * d / (2 * l * l)), narrow = std::exp(-d * d / (2 * m * m));
    CHECK(at_distance(with(KernelKind::weakly_periodic), d) == expected(s * s * wide * std::exp(-2 * wave * wave)));
    CHECK(at_distance(with(KernelKind::rbf_mixture), d) == expected(s * s * (wide + narrow) / 2));
  }
  CHECK(at_distance(with(KernelKind::periodic), 3 * p) == doctest::Approx(s * s));
}

TEST_CASE("[gp kernel] covariance of a set with itself is the rectangular form, nugget where points coincide") {
  Random random(1);
  std::vector<double> x(5 * 3);
  for (double& value : x) value = random.uniform(-1, 1);
  x.insert(x.end(), x.begin(), x.begin() + 3);  // point 5 repeats point 0
  for (KernelKind kind : {KernelKind::rbf, KernelKind::matern32, KernelKind::matern52, KernelKind::periodic,
                          KernelKind::weakly_periodic, KernelKind::rbf_mixture}) {
    CAPTURE(to_string(kind));
    const Kernel kernel{.kind = kind, .lengthscale = 0.4, .scale = 2, .nugget = 0.5};
    const auto k = covariance(kernel, {x, 3});
    CHECK(k == covariance(kernel, {x, 3}, {x, 3}));
    for (int i = 0; i < 6; ++i) CHECK(k[i * 6 + i] == kernel.variance());
    CHECK(k[5] == kernel.variance());
    CHECK(k[1] < 4);
  }
}

TEST_CASE("[gp kernel] empty sets and mismatched dimensions") {
  const std::vector<double> x{1, 2, 3, 4, 5, 6};
  CHECK(covariance({}, {{}, 2}).empty());
  CHECK(covariance({}, {{}, 2}, {x, 2}).empty());
  CHECK_THROWS_WITH_AS(covariance({}, {x, 2}, {x, 3}), "[covariance] points of 2 and of 3 dimensions, expected equal",
                       Error);
}
