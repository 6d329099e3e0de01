#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "npzoo/datasets/gaussian_processes/cholesky.h"
#include "npzoo/engine/error.h"
#include "npzoo/engine/random.h"

using namespace npzoo;

namespace {

/// M Mᵀ + I of a random M: well conditioned and positive definite.
std::vector<double> random_matrix(std::int64_t n) {
  Random random(7, static_cast<std::uint64_t>(n));
  std::vector<double> m(n * n), a(n * n);
  random.fill_normal(m);
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < n; ++j) {
      double sum = i == j ? static_cast<double>(n) : 0;
      for (std::int64_t k = 0; k < n; ++k) sum += m[i * n + k] * m[j * n + k];
      a[i * n + j] = sum / static_cast<double>(n);
    }
  return a;
}

}  // namespace

TEST_CASE("[cholesky] factor, solves and products agree with the matrix") {
  for (std::int64_t n : {0, 1, 2, 5, 33, 129}) {
    CAPTURE(n);
    const std::vector<double> a = random_matrix(n);
    const Cholesky factor(a, n);
    CHECK(factor.size() == n);
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t j = 0; j <= i; ++j) {
        double sum = 0;
        for (std::int64_t k = 0; k <= j; ++k) sum += factor(i, k) * factor(j, k);
        REQUIRE(sum == doctest::Approx(a[i * n + j]).epsilon(1e-12));
      }

    for (std::int64_t m : {1, 3}) {
      std::vector<double> x(n * m), b(n * m);
      Random(3).fill_normal(x);
      for (std::int64_t i = 0; i < n; ++i)
        for (std::int64_t k = 0; k <= i; ++k)
          for (std::int64_t c = 0; c < m; ++c) b[i * m + c] += factor(i, k) * x[k * m + c];
      factor.solve_lower(b);
      for (std::int64_t i = 0; i < n * m; ++i) REQUIRE(b[i] == doctest::Approx(x[i]).epsilon(1e-11));
    }

    std::vector<double> z(n), lz(n);
    Random(4).fill_normal(z);
    factor.multiply(z, lz);
    factor.solve_lower(lz);
    for (std::int64_t i = 0; i < n; ++i) REQUIRE(lz[i] == doctest::Approx(z[i]).epsilon(1e-12));
  }
}

TEST_CASE("[cholesky] log-determinant") {
  CHECK(Cholesky({4, 1, 1, 3}, 2).log_determinant() == doctest::Approx(std::log(11.0)));
  CHECK(Cholesky({}, 0).log_determinant() == 0);
}

TEST_CASE("[cholesky] only the lower triangle is read") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const Cholesky factor({4, nan, 2, 5}, 2);
  CHECK(factor(0, 0) == 2);
  CHECK(factor(1, 0) == 1);
  CHECK(factor(1, 1) == 2);
}

TEST_CASE("[cholesky] what cannot be factorised is named") {
  CHECK_THROWS_WITH_AS(Cholesky({1, 2, 2, 1}, 2),
                       "[cholesky] 2 x 2 matrix is not positive definite: pivot 1 is -3, expected > 0", Error);
  CHECK_THROWS_WITH_AS(Cholesky({0}, 1), "[cholesky] 1 x 1 matrix is not positive definite: pivot 0 is 0, expected > 0",
                       Error);
  CHECK_THROWS_WITH_AS(Cholesky({std::nan("")}, 1),
                       "[cholesky] 1 x 1 matrix is not positive definite: pivot 0 is nan, expected > 0", Error);
  CHECK_THROWS_WITH_AS(Cholesky({1, 2, 3}, 2), "[cholesky] 3 elements are no 2 x 2 matrix", Error);
  std::vector<double> b(3);
  CHECK_THROWS_WITH_AS(Cholesky({1, 0, 0, 1}, 2).solve_lower(b),
                       "[cholesky] 3 elements are no right-hand sides of 2 rows", Error);
}
