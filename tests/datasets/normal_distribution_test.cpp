#include "npzoo/datasets/normal_distribution.h"

#include <doctest/doctest.h>

#include <cmath>
#include <initializer_list>
#include <limits>

using namespace npzoo;

TEST_CASE("normal distribution: logarithms of probabilities keep their digits far out") {
  for (const double z : {-7.999, -7.0, -1.0, 0.0, 3.0, 30.0})
    CHECK(log_normal_probability(z) == doctest::Approx(std::log(std::erfc(-z / std::sqrt(2.0)) / 2)).epsilon(1e-14));
  CHECK(log_normal_probability(-8.001) ==
        doctest::Approx(std::log(std::erfc(8.001 / std::sqrt(2.0)) / 2)).epsilon(1e-13));
  CHECK(log_normal_probability(-10) == doctest::Approx(-53.231285150512466).epsilon(1e-15));
  CHECK(log_normal_probability(-40) == doctest::Approx(-804.6084420137538).epsilon(1e-15));
  CHECK(log_normal_probability(-1e4) == doctest::Approx(-50000010.12927891).epsilon(1e-15));
  CHECK(std::isnan(log_normal_probability(std::nan(""))));
}

TEST_CASE("normal distribution: the expected improvement has no step where its formula changes") {
  for (const double z : {-1.0, -8.0}) {
    const double above = log_improvement(std::nextafter(z, 0)), below = log_improvement(std::nextafter(z, -9));
    CHECK(above == doctest::Approx(below).epsilon(1e-12));
  }
}

TEST_CASE("normal distribution: quantiles are where probabilities reach p, in both tails") {
  CHECK(normal_quantile(0.975) == doctest::Approx(1.959963984540054).epsilon(1e-15));
  CHECK(normal_quantile(0.5) == 0);
  for (const double p : {1e-300, 1e-20, 0.01, 0.3})
    CHECK(normal_probability(normal_quantile(p)) == doctest::Approx(p).epsilon(1e-12));
  CHECK(normal_quantile(1 - 0.25) == -normal_quantile(0.25));
  CHECK(normal_quantile(std::numeric_limits<double>::denorm_min()) < -38);
}
