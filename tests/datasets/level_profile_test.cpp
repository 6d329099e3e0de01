#include "npzoo/datasets/series/level_profile.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <vector>

using namespace npzoo;

namespace {

constexpr double kProfile[] = {0.6, 0.8, 1, 1.1, 1.5, 1.4, 0.6};

/// Weeks whose level grows by 2 each.
std::vector<double> weeks(int count) {
  std::vector<double> y;
  for (int week = 0; week < count; ++week)
    for (const double place : kProfile) y.push_back((50 + 2 * week) * place);
  return y;
}

}  // namespace

TEST_CASE("level and profile: a season that grows with its level goes on") {
  const std::vector<double> periods{7};
  const GaussianPath path = level_profile_path(weeks(12), 14, periods);
  REQUIRE(path.mean.size() == 14);
  for (int h = 0; h < 14; ++h) {
    const double truth = (50 + 2 * (12 + h / 7)) * kProfile[h % 7];
    CHECK(std::abs(path.mean[static_cast<std::size_t>(h)] - truth) < 0.03 * truth);
    CHECK(path.std[static_cast<std::size_t>(h)] < 0.06 * truth);
  }
}

TEST_CASE("level and profile: missing values and a part of a season before the first whole one change little") {
  const std::vector<double> periods{7};
  const GaussianPath whole = level_profile_path(weeks(12), 7, periods);
  std::vector<double> y = weeks(12);
  y.insert(y.begin(), {40, 30});
  for (std::size_t t = 3; t + 7 < y.size(); t += 11) y[t] = std::numeric_limits<double>::quiet_NaN();
  const GaussianPath some = level_profile_path(y, 7, periods);
  REQUIRE(some.mean.size() == 7);
  for (std::size_t h = 0; h < 7; ++h) CHECK(some.mean[h] == doctest::Approx(whole.mean[h]).epsilon(0.02));
}

TEST_CASE("level and profile: of two periods the longest with eight cycles counts") {
  const std::vector<double> both{3.5, 7}, one{7};
  CHECK(level_profile_path(weeks(12), 5, both).mean == level_profile_path(weeks(12), 5, one).mean);
  const std::vector<double> long_one{7, 70};
  CHECK(level_profile_path(weeks(12), 5, long_one).mean == level_profile_path(weeks(12), 5, one).mean);
}

TEST_CASE("level and profile: none without seasons, for short series and for levels that are not above zero") {
  const std::vector<double> none, periods{7};
  CHECK(level_profile_path(weeks(12), 5, none).mean.empty());
  CHECK(level_profile_path(weeks(7), 5, periods).mean.empty());
  CHECK(level_profile_path(weeks(12), 5, std::vector<double>{0x1p61, 1e300, -3, 0}).mean.empty());
  std::vector<double> y = weeks(12);
  for (double& v : y) v -= 60;
  CHECK(level_profile_path(y, 5, periods).mean.empty());
  CHECK(level_profile_path(std::vector<double>(84, 0.0), 5, periods).mean.empty());
  CHECK(level_profile_path(std::vector<double>(84, std::numeric_limits<double>::quiet_NaN()), 5, periods).mean.empty());
}
