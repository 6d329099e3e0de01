#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "npzoo/datasets/gaussian_processes/cholesky.h"
#include "npzoo/engine/cancellation.h"
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

TEST_CASE("[cholesky] factor and products agree with the matrix") {
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

    std::vector<double> z(n), lz(n);
    Random(4).fill_normal(z);
    factor.multiply(z, lz);
    for (std::int64_t i = 0; i < n; ++i) {
      double sum = 0;
      for (std::int64_t k = 0; k <= i; ++k) sum += factor(i, k) * z[k];
      REQUIRE(lz[i] == doctest::Approx(sum).epsilon(1e-12));
    }
  }
}

TEST_CASE("[cholesky] only the lower triangle is read") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const Cholesky factor({4, nan, 2, 5}, 2);
  CHECK(factor(0, 0) == 2);
  CHECK(factor(1, 0) == 1);
  CHECK(factor(1, 1) == 2);
}

TEST_CASE("[cholesky] a matrix without a factor is an error") {
  CHECK_THROWS_WITH_AS(Cholesky({1, 2, 2, 1}, 2),
                       "[cholesky] 2 x 2 matrix is not positive definite: pivot 1 is -3, expected > 0", Error);
  CHECK_THROWS_WITH_AS(Cholesky({0}, 1), "[cholesky] 1 x 1 matrix is not positive definite: pivot 0 is 0, expected > 0",
                       Error);
  CHECK_THROWS_WITH_AS(Cholesky({std::nan("")}, 1),
                       "[cholesky] 1 x 1 matrix is not positive definite: pivot 0 is nan, expected > 0", Error);
  CHECK_THROWS_WITH_AS(Cholesky({1, 2, 3}, 2), "[cholesky] 3 elements found, expected a 2 x 2 matrix", Error);
}

TEST_CASE("[cholesky] a stop request interrupts a large factorisation") {
  const std::int64_t n = 512;
  std::vector<double> identity(n * n);
  for (std::int64_t i = 0; i < n; ++i) identity[i * n + i] = 1;
  std::stop_source source;
  source.request_stop();
  const StopScope scope(source.get_token());
  CHECK_THROWS_AS(Cholesky(identity, n), Interrupted);
}
