#include "npzoo/models/applications/tables/limit_check.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "npzoo/models/applications/tables/fill.h"
#include "npzoo/models/training/named_weights.h"
#include "tests/testing.h"

using namespace npzoo;

namespace {

/// Predictions whose quantiles at .025 and .975 are these.
PredictedColumn predicted(std::size_t rows, double low, double high) {
  PredictedColumn column;
  column.mean.assign(rows, 0.5);
  column.std.assign(rows, 9);  // no matter
  for (std::size_t i = 0; i < rows; ++i) column.quantiles.insert(column.quantiles.end(), {low, high});
  return column;
}

const std::vector<double> kBounds{0.025, 0.975}, kShares{1, 1, 1, 0.5, 0.6, 0.2, 0, 0.3, 0.9, 0.4};

}  // namespace

TEST_CASE("limits: the warning counts quantiles, and names options that work") {
  PredictedColumn column = predicted(40, 0.1, 0.9);
  CHECK(look_for_limits(kShares, column, kBounds, "y", {}).empty());  // whatever the deviation
  for (std::size_t i = 0; i < 4; ++i) column.quantiles[2 * i] = -0.2;
  const auto text = [&](const LimitAdvice& advice, const std::vector<double>& quantiles = kBounds) {
    const std::vector<Warning> all = look_for_limits(kShares, column, quantiles, "y", advice);
    REQUIRE(all.size() == 1);
    return all[0].text;
  };
  const std::string found =
      "4 of 40 predictions of y have a lower 95 % bound below 0, and no observed value is negative";
  CHECK(text({}) == found + ": use --bounds 0, or --transform auto if y cannot be negative");
  CHECK(text({.transform = false}) == found + ": use --bounds 0 if y cannot be negative");
  CHECK(text({.bounds = false}) == found);
  CHECK(text({.bounds = false}, {0.1, 0.9}) ==
        "4 of 40 predictions of y have a 10 % quantile below 0, and no observed value is negative");
  std::vector<double> some = kShares;  // ten known values, and thirty gaps
  some.resize(40, std::numeric_limits<double>::quiet_NaN());
  CHECK(look_for_limits(some, column, kBounds, "y", {.gaps_alone = true}).empty());
  for (std::size_t i = 10; i < 40; i += 10) column.quantiles[2 * i] = -0.2;
  CHECK(look_for_limits(some, column, kBounds, "y", {.gaps_alone = true})[0].text.starts_with("3 of 30 predictions"));
  column = predicted(40, 0.1, 1.2);
  CHECK(text({}) ==
        "40 of 40 predictions of y have an upper 95 % bound above 1, which no observed value exceeds: use --bounds 0,1 "
        "if y cannot be greater");
}

TEST_CASE("limits: zeros, few values, quantiles of one side and a hundredth of the range are no reason to warn") {
  const PredictedColumn below = predicted(40, -0.2, 0.9), above = predicted(40, 0.1, 1.2);
  CHECK(look_for_limits(std::vector<double>(40, 0.0), below, kBounds, "y", {}).empty());
  CHECK(look_for_limits(std::vector<double>(9, 1.0), below, kBounds, "y", {}).empty());
  CHECK(look_for_limits(kShares, predicted(40, -0.005, 1.005), kBounds, "y", {}).empty());
  CHECK(look_for_limits(kShares, below, {}, "y", {}).empty());
  std::vector<double> negative = kShares;
  negative[3] = -1;
  CHECK(look_for_limits(negative, below, kBounds, "y", {}).empty());
  const std::vector<double> upper{0.6, 0.975}, lower{0.025, 0.4};
  CHECK(look_for_limits(kShares, below, upper, "y", {}).empty());
  CHECK(look_for_limits(kShares, above, lower, "y", {}).empty());
}

TEST_CASE("limits: an answer without quantiles is checked by its bounds, and has none afterwards") {
  std::vector<double> x, y;
  for (int i = 0; i < 40; ++i) {
    x.push_back(i);
    y.push_back(i % 7 == 3 ? std::numeric_limits<double>::quiet_NaN() : i % 5 == 0 ? 4.5 : 0.0);
  }
  const FillData data{.x = x, .values = {y}};
  const FillResult found = fill("", data, {.combine_ends = false}),
                   printed = fill("", data, {.quantiles = {0.5, 0.025}, .combine_ends = false});
  CHECK(found.quantiles.empty());
  CHECK(found.columns[0].quantiles.empty());
  const auto of = [](const FillResult& result) {
    return std::ranges::find(result.warnings, "below the values", &Warning::about)->text;
  };
  std::int64_t negative = 0;
  REQUIRE(printed.columns[0].quantiles.size() == 80);
  for (std::size_t i = 1; i < 80; i += 2) negative += printed.columns[0].quantiles[i] < 0;
  CHECK(of(found) == of(printed));
  CHECK(of(found).starts_with(fmt::format("{} of 40 predictions", negative)));
  const std::vector<double> zeros(40, 0.0);
  std::vector<double> with_gap = zeros;
  with_gap[5] = y[3];
  CHECK(std::ranges::count(fill("", {.x = x, .values = {with_gap}}).warnings, "below the values", &Warning::about) ==
        0);
}

TEST_CASE("limits: directions that pass north get a warning of their own") {
  std::vector<double> direction, once, azimuth;
  for (int i = 0; i < 60; ++i) {
    direction.push_back(std::fmod(355 + 20 * std::sin(0.5 * i), 360));
    once.push_back(i < 30 ? 300 + 2 * i : 10 + 2 * (i - 30));
    azimuth.push_back(std::fmod(15.0 * i, 360));
  }
  PredictedColumn column;
  column.mean.assign(60, 180);
  column.quantiles.assign(120, -80);
  const std::vector<Warning> all = look_for_limits(direction, column, kBounds, "dir", {});
  REQUIRE(all.size() == 1);
  CHECK(all[0].text.starts_with("dir passes north "));
  for (const auto& other : {once, azimuth}) {
    const std::vector<Warning> plain = look_for_limits(other, column, kBounds, "dir", {});
    CHECK((!plain.empty() && plain[0].text.find("north") == std::string::npos));
  }
}
