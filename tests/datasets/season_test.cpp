#include "npzoo/datasets/series/season.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <limits>
#include <numbers>

#include "npzoo/datasets/series/following_times.h"
#include "npzoo/datasets/series/season_places.h"
#include "npzoo/datasets/series/smoothing.h"
#include "npzoo/engine/error.h"
#include "npzoo/engine/random.h"

using namespace npzoo;

namespace {

std::vector<double> sharp_cycle(std::size_t size, std::size_t period, double slope, double noise, std::uint64_t seed) {
  Random random(seed);
  std::vector<double> y;
  for (std::size_t t = 0; t < size; ++t)
    y.push_back(slope * static_cast<double>(t) +
                (t % period == 2   ? 6
                 : t % period == 5 ? -3
                                   : 0) +
                noise * random.normal());
  return y;
}

/// All forms for positive values.
AveragedSmoothing averaged_smoothing(std::span<const double> y, std::int64_t period) {
  std::vector<ExponentialSmoothing> fitted;
  for (const ExponentialSmoothing::Form& form : AveragedSmoothing::forms(y, period, true)) fitted.emplace_back(y, form);
  return AveragedSmoothing(std::move(fitted));
}

}  // namespace

TEST_CASE("find_periods finds a sharp cycle with half of the values missing, and none in a random walk") {
  std::vector<double> y = sharp_cycle(120, 12, 0.05, 0.5, 1);
  const std::vector<double> likely{4, 7, 12};
  CHECK(find_periods(y, likely) == std::vector<double>{12});
  CHECK(find_periods(y, {}) == std::vector<double>{12});
  Random random(3);
  std::vector<double> half = sharp_cycle(160, 12, 0.05, 0.5, 1);
  for (double& v : half)
    if (random.uniform() < 0.5) v = std::nan("");
  CHECK(find_periods(half, likely) == std::vector<double>{12});
  std::vector<double> walk{0};
  for (int t = 1; t < 150; ++t) walk.push_back(walk.back() + random.normal());
  CHECK(find_periods(walk, likely).empty());
  CHECK(find_periods(std::vector<double>(50, 2.0), likely).empty());
  CHECK(find_periods(std::vector<double>{1, 2}, likely).empty());
}

TEST_CASE("find_periods finds seasons of the calendar up to half of the series, and fractions of steps") {
  Random random(4);
  std::vector<double> year, week;
  for (int t = 0; t < 1500; ++t) {
    year.push_back(10 * std::sin(2 * std::numbers::pi * t / 365.25) + random.normal());
    const int hour = t % 336;  // half hours of a week: weekends are lower
    week.push_back((hour >= 240 ? 5 : 20) + 4 * std::sin(2 * std::numbers::pi * t / 48) + random.normal());
  }
  CHECK(find_periods(year, std::vector<double>{7, 365.25}) == std::vector<double>{365.25});
  const std::vector<double> found = find_periods(week, std::vector<double>{2, 48, 336});
  CHECK(std::ranges::find(found, 336) != found.end());
  for (const double p : find_periods(std::span(year).first(700), std::vector<double>{7, 365.25}))
    CHECK(p <= 200);  // two cycles of a year are missing
}

TEST_CASE("find_periods needs less evidence for 4 and 12 if no period is likely, and does not take them for others") {
  int twelve = 0, eleven = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const auto found = [seed](double period) {
      Random random(seed);
      std::vector<double> y;
      for (int t = 0; t < 110; ++t) y.push_back(0.6 * std::sin(2 * std::numbers::pi * t / period) + random.normal());
      return find_periods(y, {}) == std::vector<double>{period};
    };
    twelve += found(12);
    eleven += found(11);
  }
  CHECK(twelve > eleven + 6);
  Random random(5);
  std::vector<double> day;  // with two peaks
  for (int t = 0; t < 168; ++t)
    day.push_back(2 * std::sin(2 * std::numbers::pi * t / 24) + 2 * std::sin(2 * std::numbers::pi * t / 12) +
                  0.5 * random.normal());
  CHECK(find_periods(day, {}) == std::vector<double>{24});
}

TEST_CASE("the order of periods makes no difference to SeriesTrend") {
  const std::vector<double> y = sharp_cycle(96, 12, 0.3, 0.2, 5);
  const SeriesTrend a(y, std::vector<double>{12, 7}), b(y, std::vector<double>{7, 12});
  for (double place = 0; place < 40; place += 0.7) CHECK(a.season(place) == b.season(place));
}

TEST_CASE("exponential smoothing has no season with a place that never had a value") {
  // Office hours: 6 of 24 steps have values. A season of 24 would leave the others to chance.
  std::vector<double> y;
  Random random(8);
  for (int t = 0; t < 240; ++t)
    y.push_back(t % 24 >= 9 && t % 24 < 15 ? 100 + random.normal() : std::numeric_limits<double>::quiet_NaN());
  const GaussianPath path = averaged_smoothing(y, 24).forecast(24);
  for (std::size_t h = 0; h < 24; ++h) {
    CHECK(std::abs(path.mean[h] - 100) < 5);
    CHECK(path.std[h] < 20);
  }
}

TEST_CASE("SeriesTrend separates a line from a season and states their uncertainty") {
  const std::vector<double> y = sharp_cycle(96, 12, 0.3, 0.2, 5);
  const SeriesTrend trend(y, std::vector<double>{12});
  CHECK(trend.slope() == doctest::Approx(0.3).epsilon(0.02));
  CHECK(std::abs(trend.slope() - 0.3) < 4 * std::sqrt(trend.slope_variance()));
  CHECK(trend.season(2 + 12 * 9) - trend.season(0) == doctest::Approx(6).epsilon(0.1));
  CHECK(trend.season(98) == doctest::Approx(trend.season(2)));
  CHECK(trend.season_variance() < 0.05);
  CHECK(trend.correlation() < 0.4);
}

TEST_CASE("exponential smoothing continues a line and a level, also with missing values") {
  using Trend = ExponentialSmoothing::Trend;
  std::vector<double> y;
  Random random(7);
  for (int t = 0; t < 60; ++t) y.push_back(t % 7 == 3 ? std::nan("") : 5 + 2.0 * t + 0.1 * random.normal());
  const ExponentialSmoothing level(y, {}), line(y, {.trend = Trend::fixed});
  CHECK(line.criterion() < level.criterion());
  const GaussianPath path = line.forecast(3);
  CHECK(path.mean[2] == doctest::Approx(5 + 2.0 * 62).epsilon(0.003));
  CHECK(path.std[2] >= path.std[0]);
  const ExponentialSmoothing relative(y, {.trend = Trend::fixed, .relative = true});
  CHECK(relative.forecast(2).std[1] > 0);
  const GaussianPath theta = theta_forecast(y, 2);
  CHECK(theta.mean[1] > theta.mean[0]);
}

TEST_CASE("errors of smoothing's paths have deviation 1 and depend on each other as the recursion has them") {
  using Trend = ExponentialSmoothing::Trend;
  constexpr std::size_t kPaths = 20'000, kHorizon = 9;
  std::vector<double> y;
  Random random(11);
  double level = 50;
  for (int t = 0; t < 80; ++t) {
    level += 0.6 * random.normal();
    y.push_back(level + (t % 4 == 1 ? 3 : 0) + random.normal());
  }
  const ExponentialSmoothing::Form forms[] = {
      {}, {.trend = Trend::local}, {.trend = Trend::damped, .period = 4, .relative = true}};
  for (const auto& form : forms) {
    const ExponentialSmoothing smoothing(y, form);
    const GaussianPath forecast = smoothing.forecast(kHorizon);
    std::array<double, kHorizon> sums{}, squares{};
    double products = 0;
    for (std::size_t i = 0; i < kPaths; ++i) {
      Random stream(5, i);
      const std::vector<double> errors = smoothing.path_errors(forecast, stream);
      REQUIRE(errors.size() == kHorizon);
      for (std::size_t h = 0; h < kHorizon; ++h) {
        sums[h] += errors[h];
        squares[h] += errors[h] * errors[h];
      }
      products += errors[7] * errors[8];
    }
    for (std::size_t h = 0; h < kHorizon; ++h) {
      CHECK(std::abs(sums[h] / kPaths) < 0.03);  // four standard errors
      CHECK(std::abs(squares[h] / kPaths - 1) < 0.04);
    }
    if (form.trend != Trend::none) continue;
    // Of a level alone, the variance of step h is 1 + (h − 1) α² and the covariance with the next step α + (h − 1) α².
    const double ratio = forecast.std[1] / forecast.std[0], square = ratio * ratio - 1;
    CHECK(std::abs(products / kPaths -
                   (std::sqrt(square) + 7 * square) / std::sqrt((1 + 7 * square) * (1 + 8 * square))) < 0.03);
  }
  const AveragedSmoothing averaged = averaged_smoothing(y, 4);
  std::vector<Random> streams{Random(5, 1), Random(5, 2)}, again{Random(5, 1), Random(5, 2)};
  const std::vector<double> few = averaged.path_errors(3, streams), more = averaged.path_errors(6, again);
  for (std::size_t h = 0; h < 3; ++h) {
    CHECK(few[h] == more[h]);
    CHECK(few[3 + h] == more[6 + h]);
  }
}

TEST_CASE("a season is as sure at any level") {
  std::vector<double> low, high;
  for (int t = 0; t < 40; ++t) {
    low.push_back(std::sin(std::numbers::pi * t / 6) + 0.1 * std::cos(5 * t));
    high.push_back(low.back() + 1e9);
  }
  const std::vector<double> periods{12};
  const SeriesTrend a(low, periods), b(high, periods);
  CHECK(b.season_variance() == doctest::Approx(a.season_variance()).epsilon(1e-3));
  CHECK(b.season(3) == doctest::Approx(a.season(3)).epsilon(1e-4));
}

TEST_CASE("bands of the naive forecasts grow as those of random walks") {
  const std::vector<double> y{1, 3, 2, 5, 3, 6, 4, 8};
  const GaussianPath naive = seasonal_naive_path(y, 4, 2), drift = drift_path(y, 4);
  CHECK(naive.mean == std::vector<double>{4, 8, 4, 8});
  CHECK(naive.std[0] == naive.std[1]);
  CHECK(naive.std[2] == doctest::Approx(std::sqrt(2.0) * naive.std[0]));
  CHECK(drift.mean[0] == doctest::Approx(9));
  CHECK(drift.std[3] > drift.std[0]);
}

TEST_CASE("following_times keeps month ends, leap days and weekends") {
  const ColumnForm dates{.kind = ColumnForm::Kind::time};
  const auto day = [](int y, unsigned m, unsigned d) {
    using namespace std::chrono;
    return static_cast<double>(sys_days(year(y) / month(m) / std::chrono::day(d)).time_since_epoch().count());
  };
  const std::vector<double> ends{day(2023, 11, 30), day(2023, 12, 31), day(2024, 1, 31)};
  CHECK(following_times(ends, dates, 2) == std::vector<double>{day(2024, 2, 29), day(2024, 3, 31)});
  std::vector<double> work;
  for (int week = 0; week < 3; ++week)
    for (unsigned d = 1; d <= 5; ++d) work.push_back(day(2024, 1, d) + 7 * week);
  CHECK(following_times(work, dates, 2) == std::vector<double>{day(2024, 1, 22), day(2024, 1, 23)});
  const std::vector<double> numbers{3, 1, 2};
  CHECK(following_times(numbers, {}, 2) == std::vector<double>{4, 5});
  CHECK_THROWS_AS(following_times(std::vector<double>{1, 1}, {}, 1), Error);
}

TEST_CASE("SeriesTrend stays near the values where a season has places without any") {
  // Eight hours on five days a week: 128 of the 168 places never have a value.
  std::vector<double> y;
  Random random(3);
  for (int t = 0; t < 5 * 168; ++t) {
    const bool open = t % 168 < 120 && t % 24 >= 9 && t % 24 < 17 && t % 97 != 0;
    y.push_back(open ? 20 + 3 * std::sin(2 * std::numbers::pi * (t % 24) / 24) + 0.3 * random.normal()
                     : std::numeric_limits<double>::quiet_NaN());
  }
  const SeriesTrend trend(y, std::vector<double>{24, 168});
  double most = 0, seen = 0;
  for (int t = 0; t < 168; ++t) {
    most = std::max(most, std::abs(trend.season(t)));
    const double of_noon = trend.season(12 + 24 * (t / 24 % 5)) - trend.season(9 + 24 * (t / 24 % 5));
    seen = std::max(seen, std::abs(of_noon - 3 * (std::sin(std::numbers::pi) - std::sin(0.75 * std::numbers::pi))));
  }
  CHECK(most < 30);  // more than 1e6 if nothing holds the season
  CHECK(seen < 0.6);
  CHECK(trend.season_variance() < 9);
}

TEST_CASE("SeasonPlaces tells places that never have a value from those that miss one by chance") {
  constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();
  std::vector<double> school(156, 1), scattered(504, 1);
  for (std::size_t t = 0; t < school.size(); ++t)
    if (t % 52 >= 26 && t % 52 < 35) school[t] = kMissing;
  Random random(2);
  for (double& v : scattered)
    if (random.uniform() < 0.05) v = kMissing;
  for (const std::size_t t : {10, 178, 346}) scattered[t] = kMissing;
  const SeasonPlaces weeks(school, 52), hours(scattered, 168), full(std::vector<double>(30, 1.0), 7);
  CHECK(weeks.any_empty());
  CHECK(weeks.never_has_value(156 + 30));
  CHECK_FALSE(weeks.never_has_value(156 + 20));
  CHECK(hours.any_empty());
  CHECK_FALSE(hours.never_has_value(504 + 10));
  CHECK_FALSE(full.any_empty());
  CHECK_FALSE(full.never_has_value(33));
}
