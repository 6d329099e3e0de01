#include "npzoo/datasets/symmetric_factor.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <stop_token>

#include "npzoo/datasets/gaussian_processes/cholesky.h"
#include "npzoo/engine/cancellation.h"
#include "npzoo/engine/error.h"
#include "npzoo/engine/random.h"

using namespace npzoo;

namespace {

/// exp(−(i − j)² / 50), with 0.1 more on the diagonal.
std::vector<double> smooth_covariance(std::int64_t n) {
  std::vector<double> a;
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < n; ++j)
      a.push_back(std::exp(-static_cast<double>((i - j) * (i - j)) / 50) + (i == j ? 0.1 : 0));
  return a;
}

std::vector<double> normal_values(std::int64_t count, std::uint64_t seed) {
  std::vector<double> values(static_cast<std::size_t>(count));
  Random(seed).fill_normal(values);
  return values;
}

}  // namespace

TEST_CASE("[symmetric factor] agrees with the samplers' factor to 1e-12, in one block of rows and in several") {
  for (const std::int64_t n : {0, 1, 2, 5, 33, 128, 129, 300}) {
    CAPTURE(n);
    const std::vector<double> a = smooth_covariance(n);
    const SymmetricFactor factor(a, n);
    const Cholesky other(a, n);
    double log_determinant = 0;
    for (std::int64_t i = 0; i < n; ++i) log_determinant += 2 * std::log(other(i, i));
    CHECK(factor.log_determinant() == doctest::Approx(log_determinant).epsilon(1e-12));
    for (const std::int64_t m : {1, 3}) {
      const std::vector<double> x = normal_values(n * m, 3);
      std::vector<double> lower(x.size()), upper(x.size());
      for (std::int64_t i = 0; i < n; ++i)
        for (std::int64_t k = 0; k <= i; ++k)
          for (std::int64_t c = 0; c < m; ++c) {
            lower[i * m + c] += other(i, k) * x[k * m + c];
            upper[k * m + c] += other(i, k) * x[i * m + c];
          }
      if (m == 1) {
        const std::vector<double> product = factor.multiply(x);
        for (std::size_t i = 0; i < x.size(); ++i) REQUIRE(product[i] == doctest::Approx(lower[i]).epsilon(1e-12));
      }
      factor.solve_lower(lower);
      factor.solve_upper(upper);
      for (std::size_t i = 0; i < x.size(); ++i) {
        REQUIRE(lower[i] == doctest::Approx(x[i]).epsilon(1e-11));
        REQUIRE(upper[i] == doctest::Approx(x[i]).epsilon(1e-11));
      }
    }
    const std::vector<double> inverse = factor.inverse();
    for (std::int64_t i = 0; i < n; ++i) {
      double product = 0;
      for (std::int64_t k = 0; k < n; ++k) product += a[i * n + k] * inverse[k * n + i];
      REQUIRE(product == doctest::Approx(1).epsilon(1e-11));
    }
  }
}

TEST_CASE("[symmetric factor] a square is subtracted in the lower triangle") {
  std::vector<double> a{10, 7, 5, 20};
  subtract_square(a, 2, std::vector<double>{1, 2, 0, 3, 1, 0});
  CHECK(a == std::vector<double>{8, 7, 3, 7});
  subtract_square(a, 2, {});
  CHECK(a == std::vector<double>{8, 7, 3, 7});
}

TEST_CASE("[symmetric factor] only the lower triangle is read") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  CHECK(SymmetricFactor({4, nan, 2, 5}, 2).log_determinant() == doctest::Approx(std::log(16.0)));
}

TEST_CASE("[symmetric factor] errors name the first pivot that is not positive, in later blocks as well") {
  CHECK_THROWS_WITH_AS(SymmetricFactor({1, 2, 2, 1}, 2),
                       "[cholesky] 2 x 2 matrix is not positive definite: pivot 1 is -3, expected > 0", Error);
  CHECK_THROWS_WITH_AS(SymmetricFactor({0}, 1),
                       "[cholesky] 1 x 1 matrix is not positive definite: pivot 0 is 0, expected > 0", Error);
  CHECK_THROWS_WITH_AS(SymmetricFactor({std::nan("")}, 1),
                       "[cholesky] 1 x 1 matrix is not positive definite: pivot 0 is nan, expected > 0", Error);
  constexpr std::int64_t kRows = 200;
  std::vector<double> late(kRows * kRows);
  for (std::int64_t i = 0; i < kRows; ++i) late[i * kRows + i] = i == 150 ? -2 : 1;
  CHECK_THROWS_WITH_AS(SymmetricFactor(late, kRows),
                       "[cholesky] 200 x 200 matrix is not positive definite: pivot 150 is -2, expected > 0", Error);
  CHECK_THROWS_WITH_AS(SymmetricFactor({1, 2, 3}, 2), "[cholesky] 3 elements found, expected a 2 x 2 matrix", Error);
  std::vector<double> b(3);
  CHECK_THROWS_WITH_AS(SymmetricFactor({1, 0, 0, 1}, 2).solve_lower(b),
                       "[cholesky] 3 elements found, expected right-hand sides of 2 rows", Error);
}

TEST_CASE("[symmetric factor] a stop request interrupts a factorisation") {
  std::stop_source source;
  source.request_stop();
  const StopScope scope(source.get_token());
  CHECK_THROWS_AS(SymmetricFactor(smooth_covariance(2), 2), Interrupted);
}

TEST_CASE("[symmetric factor] a stop request interrupts solves of many columns and large squares") {
  constexpr std::int64_t kRows = 600, kColumns = 2000;
  const SymmetricFactor factor(smooth_covariance(kRows), kRows);
  std::vector<double> b(kRows * kColumns, 1.0), square(kColumns * kColumns);
  const StopScope scope([] { return true; });
  CHECK_THROWS_AS(factor.solve_lower(b), Interrupted);
  CHECK_THROWS_AS(factor.solve_upper(b), Interrupted);
  CHECK_THROWS_AS(subtract_square(square, kColumns, b), Interrupted);
}
