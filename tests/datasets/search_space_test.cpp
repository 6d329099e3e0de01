#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "npzoo/datasets/sobol.h"
#include "npzoo/engine/error.h"
#include "npzoo/models/applications/optimise/search_space.h"

using namespace npzoo;

TEST_CASE("sobol: every box of a grid of powers of two holds as many points, for each pair of coordinates") {
  constexpr std::int64_t kPoints = 4096;
  constexpr std::size_t kDims = 6;
  for (const std::uint64_t seed : {0, 7}) {
    const std::vector<double> points = sobol_points(kDims, 0, kPoints, seed);
    for (std::size_t a = 0; a < kDims; ++a)
      for (std::size_t b = 0; b < a; ++b) {
        // The quality t of a pair of the first six coordinates is at most 4: boxes of 2^4 points have exactly those.
        std::vector<int> boxes(256);
        for (std::size_t i = 0; i < kPoints; ++i)
          ++boxes[static_cast<std::size_t>(points[i * kDims + a] * 16) * 16 +
                  static_cast<std::size_t>(points[i * kDims + b] * 16)];
        CHECK(std::ranges::all_of(boxes, [](int n) { return n == 16; }));
      }
  }
  const std::vector<double> later = sobol_points(3, 5, 2, 1), all = sobol_points(3, 0, 7, 1);
  CHECK(std::ranges::equal(later, std::span(all).subspan(15)));
  CHECK(sobol_points(3, 0, 4, 1) != sobol_points(3, 0, 4, 2));
}

TEST_CASE("sobol: each of twenty coordinates has one point in each interval") {
  constexpr std::int64_t kPoints = 1024;
  const std::vector<double> points = sobol_points(kMostSobolDims, 0, kPoints, 5);
  for (std::size_t d = 0; d < kMostSobolDims; ++d) {
    std::vector<int> intervals(kPoints);
    for (std::size_t i = 0; i < kPoints; ++i)
      ++intervals[static_cast<std::size_t>(points[i * kMostSobolDims + d] * kPoints)];
    CHECK(std::ranges::all_of(intervals, [](int n) { return n == 1; }));
  }
}

TEST_CASE("sobol: points of a seed have the same bits as those of earlier versions") {
  // Printed by version 0.1, whose points were computed without Boost.
  const std::vector<double> first{0x1.677d658cp-3, 0x1.5a680d4fp-1, 0x1.907f144ep-2, 0x1.d2f116dcp-3, 0x1.a2a4c079p-1,
                                  0x1.2046843ep-2, 0x1.59df5963p-1, 0x1.69a0353cp-3, 0x1.c83f8a27p-1, 0x1.74bc45b7p-1,
                                  0x1.454980f2p-2, 0x1.9023421fp-1, 0x1.d9df5963p-1, 0x1.da680d4fp-1, 0x1.20fe289cp-3,
                                  0x1.e9788b6ep-2, 0x1.152603c8p-4, 0x1.1023421fp-1},
      late{0x1.99df5961p-1, 0x1.6597f2b1p-1, 0x1.023f208dp-1, 0x1.4b64491p-5, 0x1.02bf7743p-1, 0x1.51543569p-1};
  CHECK(sobol_points(6, 0, 3, 7) == first);
  CHECK(sobol_points(6, 4294967290, 1, 7) == late);
}

TEST_CASE("search space: a bound that rounding misses is the bound") {
  const SearchSpace space({{"a", 0.1, 0.3}, {"b", 1e-4, 1e2, true}});
  const double third = 0.1 + 0.1 + 0.1;  // above 0.3
  CHECK_NOTHROW(space.check_values(std::vector{third, 1e2 * (1 + 1e-15)}, "told"));
  CHECK_NOTHROW(space.check_values(std::vector{0.1 * (1 - 1e-15), 1e-4 * (1 - 1e-15)}, "told"));
  CHECK(space.unit(std::vector{third, 1e2 * (1 + 1e-15)}) == std::vector<double>{1, 1});
  CHECK_THROWS_AS(space.check_values(std::vector{0.3 + 1e-8, 1.0}, "told"), Error);
  CHECK_THROWS_AS(space.check_values(std::vector{0.2, 1e-4 - 1e-9}, "told"), Error);
  CHECK_THROWS_AS(space.check_values(std::vector{0.2, -1.0}, "told"), Error);
}

TEST_CASE("search space: values and the unit cube are each other's inverse, integers whole, held axes held") {
  const SearchSpace space({{"a", -1, 3},
                           {"b", 1e-4, 1e2, true},
                           {"n", 1, 64, true, true},
                           {"held", 5, 5, false, false, 5.0},
                           {"within", 0, 1, false, false, 0.25}});
  REQUIRE(space.dims() == 4);
  CHECK(space.is_held(3));
  for (const double u : {0.0, 0.1, 0.5, 0.9, 1.0}) {
    const std::vector<double> unit{u, 1 - u, u, 0.7}, values = space.values(unit);
    CHECK(values[0] == doctest::Approx(-1 + 4 * u).epsilon(1e-14));
    CHECK(std::log10(values[1]) == doctest::Approx(-4 + 6 * (1 - u)).epsilon(1e-5));  // six digits
    CHECK(values[2] == std::round(std::clamp(std::pow(64.0, u), 1.0, 64.0)));
    CHECK(values[3] == 5);
    CHECK(values[4] == 0.25);
    const std::vector<double> back = space.unit(values), nearest = space.nearest(unit);
    CHECK(back[0] == doctest::Approx(u).epsilon(1e-14));
    CHECK(back[1] == doctest::Approx(1 - u).epsilon(1e-5));
    CHECK(back[3] == 0.25);
    CHECK(space.values(nearest) == values);
    CHECK(space.nearest(nearest) == nearest);
  }
}

TEST_CASE("search space: choices have names, and their numbers are values") {
  const SearchSpace space({{.name = "x", .low = 0, .high = 1},
                           {.name = "kernel", .choices = {"rbf", "matern", "linear"}},
                           {.name = "held", .fixed = 1, .choices = {"a", "b"}}});
  CHECK(space.categories() == std::vector<std::int64_t>{0, 3, 2});
  CHECK(space.is_held(2));
  CHECK_FALSE(space.points().has_value());
  for (const auto& [u, number] : {std::pair{0.0, 0.0}, {0.3, 0.0}, {0.34, 1.0}, {0.66, 1.0}, {0.67, 2.0}, {1.0, 2.0}}) {
    const std::vector<double> unit{0.5, u, 0.1}, values = space.values(unit);
    CHECK(values == std::vector<double>{0.5, number, 1});
    CHECK(space.values(space.nearest(unit)) == values);
    CHECK(space.nearest(space.nearest(unit)) == space.nearest(unit));
    CHECK(space.place(1, u) == number);
  }
  CHECK(space.axes()[1].text(2) == "linear");
  CHECK(space.axes()[0].text(0.25) == "0.25");
  const SearchSpace finite(
      {{.name = "k", .choices = {"a", "b", "c"}}, {.name = "n", .low = 1, .high = 2, .integer = true}});
  CHECK(finite.points() == 6);
  CHECK(finite.unknown_points({finite.unit(std::vector<double>{1, 2})}, 100)->size() == 5);
}

TEST_CASE("observations: a told point is pending no longer, and a known one never is") {
  const SearchSpace space({{.name = "x", .low = 0, .high = 3}, {.name = "k", .choices = {"a", "b"}}});
  Observations seen{.dims = 2};
  const auto at = [&](double x, double k) { return space.unit(std::vector<double>{x, k}); };
  add_evaluation(space, std::vector<double>{1, 0}, 5, false, seen);
  for (const auto& unit : {at(1, 0), at(1, 1), at(2, 0), at(1, 1)}) add_pending(unit, seen);
  CHECK(seen.waiting() == 2);
  add_evaluation(space, std::vector<double>{1, 1}, std::nan(""), false, seen);  // failed
  CHECK(seen.pending == at(2, 0));
  add_evaluation(space, std::vector<double>{2 + 1e-12, 0}, 1, false, seen);
  CHECK(seen.waiting() == 0);
  CHECK(seen.evaluations() == 3);
}
