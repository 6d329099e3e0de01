#include "npzoo/models/applications/tables/meter_falls.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "tests/testing.h"

using namespace npzoo;

namespace {

constexpr double kNoReading = std::numeric_limits<double>::quiet_NaN();
constexpr std::size_t kReadings = 60, kFall = 30;

/// An hourly meter that starts anew in row 30, and one that goes on. Both have the same gaps.
struct Meters {
  std::vector<double> hours, falling, going_on;

  Meters() {
    double sum = 900;
    for (std::size_t i = 0; i < kReadings; ++i) {
      sum += 3 + std::sin(0.9 * static_cast<double>(i));
      hours.push_back(static_cast<double>(i));
      const bool gap = i % 10 == 7 || i == 44 || i == 45;
      going_on.push_back(gap ? kNoReading : sum);
      falling.push_back(gap ? kNoReading : i < kFall ? sum : sum - 990);
    }
  }
  FillResult fill(const std::vector<double>& values, FillOptions options = {}) const {
    return npzoo::fill("", {.dim_x = 1, .x = hours, .values = {values}, .x_names = {"hour"}, .value_names = {"kwh"}},
                       options);
  }
};

}  // namespace

TEST_CASE("meter falls: gaps beside a fall are filled as without it, and the fall is named") {
  const Meters meters;
  const FillResult plain = meters.fill(meters.going_on), fallen = meters.fill(meters.falling);
  for (std::size_t i = 0; i < kReadings; ++i) {
    const double lowered = i < kFall ? 0 : 990;
    CHECK(std::abs(fallen.columns[0].mean[i] - (plain.columns[0].mean[i] - lowered)) < 1);
    CHECK(fallen.columns[0].std[i] < 3);
  }
  REQUIRE(fallen.warnings.size() == plain.warnings.size() + 1);
  CHECK(fallen.warnings.back().text.starts_with("kwh falls from "));
  CHECK(fallen.warnings.back().text.find("where hour is 30, as a meter does that starts anew") != std::string::npos);
}

TEST_CASE("meter falls: missing readings around the fall are of either side, and quantiles and samples show it") {
  Meters meters;
  for (std::size_t i = 28; i < 32; ++i) meters.falling[i] = kNoReading;
  const FillResult result = meters.fill(meters.falling, {.quantiles = {0.05, 0.95}, .samples = 20});
  const PredictedColumn& kwh = result.columns[0];
  for (std::size_t i = 28; i < 32; ++i) {
    CHECK(kwh.std[i] > 300);
    CHECK(kwh.quantiles[2 * i] < 20);
    CHECK(kwh.quantiles[2 * i + 1] > 900);
    const auto [low, high] = std::ranges::minmax(std::span(kwh.samples).subspan(20 * i, 20));
    CHECK(low < 20);
    CHECK(high > 900);
  }
  CHECK(kwh.std[26] < 3);
  CHECK(kwh.std[33] < 3);
  CHECK(result.warnings.back().text.find("; 5 rows after 26 may be of either side") != std::string::npos);
}

TEST_CASE("meter falls: series that fall as they please, and asked transforms, are left as they are") {
  Meters meters;
  const FillData data{
      .dim_x = 1, .x = meters.hours, .values = {meters.falling}, .x_names = {"hour"}, .value_names = {"kwh"}};
  CHECK(MeterFalls(data, {}).data().values[0][40] > 900);
  CHECK(MeterFalls(data, {.transform = {.automatic = true}}).data().values[0][40] == meters.falling[40]);
  std::vector<double> twice = meters.falling, wave = meters.falling, low = meters.falling;
  for (std::size_t i = 50; i < kReadings; ++i) twice[i] -= 70;
  for (std::size_t i = 0; i < kReadings; ++i) wave[i] = 5 + 4 * std::sin(0.3 * static_cast<double>(i));
  for (std::size_t i = kFall + 1; i < kReadings; ++i) low[i] += 990;  // one low reading
  for (const auto& other : {twice, wave, low}) {
    FillData plain = data;
    plain.values = {other};
    CHECK(MeterFalls(plain, {}).data().values[0][40] == other[40]);
  }
}
