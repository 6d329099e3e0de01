#include "npzoo/datasets/series/local_scale.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <numeric>
#include <vector>

#include "npzoo/engine/random.h"

using namespace npzoo;

namespace {

std::vector<double> places(std::size_t n) {
  std::vector<double> x(n);
  std::iota(x.begin(), x.end(), 0.0);
  return x;
}

/// Normal errors whose deviation is a function of their place.
std::vector<double> errors(std::uint64_t seed, std::size_t n, const std::function<double(double)>& deviation) {
  Random random(seed);
  std::vector<double> drawn;
  for (std::size_t i = 0; i < n; ++i) drawn.push_back(deviation(static_cast<double>(i)) * random.normal());
  return drawn;
}

}  // namespace

TEST_CASE("local scale: deviations that change are found where they are") {
  const std::size_t n = 200;
  const auto grows = find_local_scale(places(n), errors(1, n, [](double x) { return std::exp(x / 60); }));
  REQUIRE(grows);
  for (const double x : {20.0, 60.0, 100.0, 140.0, 180.0}) {
    CAPTURE(x);
    CHECK(std::abs(std::log(grows->at(x)) - x / 60) < 0.5);
  }
  CHECK(grows->ratio() > 8);
  CHECK(grows->ratio() < 60);
  const auto step = find_local_scale(places(n), errors(2, n, [](double x) { return x < 120 ? 0.1 : 5; }));
  REQUIRE(step);
  CHECK(step->at(50) < 0.15);
  CHECK(step->at(-1e9) < 0.15);
  CHECK(step->at(180) > 3);
  CHECK(step->at(1e9) > 3);
}

TEST_CASE("local scale: errors of one deviation, outliers, few errors and none at all show no change") {
  int found = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    std::vector<double> even = errors(seed, 40 + seed, [](double) { return 3.0; });
    found += find_local_scale(places(even.size()), even).has_value();
    even[even.size() / 3] *= 100;
    found += find_local_scale(places(even.size()), even).has_value();
  }
  CHECK(found <= 4);
  CHECK_FALSE(find_local_scale(places(39), errors(1, 39, [](double x) { return x < 20 ? 0.01 : 5; })));
  CHECK_FALSE(find_local_scale(places(100), std::vector<double>(100, 0)));
  CHECK_FALSE(find_local_scale({}, {}));
}

TEST_CASE("local scale: errors that are 0 have a scale") {
  std::vector<double> some = errors(4, 100, [](double) { return 2.0; });
  std::fill(some.begin(), some.begin() + 60, 0.0);
  const auto scale = find_local_scale(places(100), some);
  REQUIRE(scale);
  CHECK(scale->at(10) > 0);
  CHECK(scale->at(10) < 0.05);
  CHECK(std::abs(scale->at(90) - 2) < 1);
  std::vector<double> rare(100, 0);  // now and then a value: that is no change
  for (std::size_t i = 4; i < rare.size(); i += 7) rare[i] = 3;
  CHECK_FALSE(find_local_scale(places(100), rare));
}

TEST_CASE("local scale: places that are equal share a scale") {
  std::vector<double> x = places(100);
  for (std::size_t i = 1; i < x.size(); i += 2) x[i] = x[i - 1];
  const auto scale = find_local_scale(x, errors(5, 100, [](double at) { return at < 50 ? 0.1 : 5; }));
  REQUIRE(scale);
  for (const double at : x) CHECK(std::isfinite(scale->at(at)));
}

TEST_CASE("local scale: errors beside neighbours have the deviation of the noise around a line") {
  const std::size_t n = 4000;
  std::vector<double> x = places(n), y = errors(6, n, [](double) { return 0.7; });
  Random random(7);
  for (std::size_t i = 0; i < n; ++i) {
    x[i] += random.uniform(0, 1);
    y[i] += 3 * x[i];
  }
  const std::vector<double> found = errors_beside_neighbours(x, y);
  REQUIRE(found.size() == n - 2);
  double squares = 0;
  for (const double error : found) squares += error * error;
  CHECK(std::abs(std::sqrt(squares / static_cast<double>(found.size())) - 0.7) < 0.03);
  const std::vector<double> equal{1, 1, 1}, values{2, 5, 4};
  CHECK(std::abs(errors_beside_neighbours(equal, values).at(0) - 2 / std::sqrt(1.5)) < 1e-12);
  CHECK(errors_beside_neighbours(std::vector<double>{1, 2}, std::vector<double>{1, 2}).empty());
}
