#include "npzoo/models/applications/forecasts/forecaster.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "tests/models/walk_model.h"

using namespace npzoo;
using namespace npzoo::testing;

namespace {

/// A value at each day from 10 on.
TimeSeries days(std::vector<double> y) {
  Measurements m{.time_form = {.kind = ColumnForm::Kind::time}};
  for (std::size_t i = 0; i < y.size(); ++i) m.time.push_back(10 + static_cast<double>(i));
  m.y = std::move(y);
  return order_by_time(std::move(m), 1, "s");
}

SeriesForecast forecast(const Walk& model, const TimeSeries& series, const ForecastOptions& options) {
  return Forecaster(model, {.context = 3, .horizon = 2}, {{4}, {2}}).forecast(series, options);
}

}  // namespace

TEST_CASE("forecaster: continues after the last known value, in the units of the table") {
  const SeriesForecast said = forecast(Walk(0.5, false), days({1, 2, 8, 6, kNaN, kNaN}),
                                       {.horizon = 2, .quantiles = {0.5, 0.975}, .samples = 400});
  CHECK(said.time == std::vector<double>{14, 15});
  CHECK(said.mean == std::vector<double>{6, 6});
  CHECK(said.std == std::vector<double>{1, 1});
  CHECK(largest_difference(Tensor::from<double>({4}, said.quantiles), {6, 7.95996, 6, 7.95996}) < 1e-4);
  CHECK(said.how == "one-shot, exact");
  CHECK(said.first_context == 1);
  CHECK(said.context_points == 3);
  REQUIRE(said.samples.size() == 800);
  double mean = 0;
  for (const double sample : said.samples) mean += sample / 800;
  CHECK(std::abs(mean - 6) < 5 / std::sqrt(800.0));
}

TEST_CASE("forecaster: beyond the horizon it continues its own paths, whose spread grows") {
  const SeriesForecast said = forecast(Walk(0.5, false), days({1, 2, 8, 6}), {.horizon = 5, .quantiles = {0.5}});
  CHECK(said.time == std::vector<double>{14, 15, 16, 17, 18});
  CHECK(said.how == "one-shot, exact; from step 3 on free-running, 200 paths of windows of 2, each at one shot");
  CHECK(said.samples.empty());
  for (std::size_t h = 0; h < 5; ++h) {
    const double variance = 1 + static_cast<double>(h / 2);  // of the last value of the window before, and its own
    CAPTURE(h);
    CHECK(std::abs(said.mean[h] - 6) < 5 * std::sqrt(variance / 200));
    CHECK(std::abs(said.std[h] * said.std[h] - variance) < 5 * variance * std::sqrt(2.0 / 200));
    CHECK(std::abs(said.quantiles[h] - 6) < 6 * std::sqrt(variance / 200));
  }
  const SeriesForecast walk = forecast(Walk(0.5, true), days({1, 2, 8, 6}), {.horizon = 3, .samples = 300});
  CHECK(walk.how == "free-running, 20 samples; from step 3 on free-running, 300 paths of windows of 2");
  CHECK(walk.samples.size() == 900);
  CHECK(std::abs(walk.std[2] * walk.std[2] - 3) < 5 * 3 * std::sqrt(2.0 / 300));
  CHECK(forecast(Walk(0.5, true), days({1, 2, 8, 6}), {.horizon = 2}).how == "free-running, 20 samples");
}

TEST_CASE("forecaster: a longer horizon changes no step before") {
  for (const bool along : {false, true}) {
    const auto told = [&](std::int64_t horizon) {
      return forecast(Walk(0.5, along), days({1, 2, 8, 6}), {.horizon = horizon, .quantiles = {0.3}, .samples = 3});
    };
    const SeriesForecast longest = told(7);
    for (const std::int64_t horizon : {1, 2, 3, 5}) {
      const SeriesForecast shorter = told(horizon);
      const auto begins = [](const std::vector<double>& whole, const std::vector<double>& part) {
        return std::equal(part.begin(), part.end(), whole.begin());
      };
      CAPTURE(horizon);
      CHECK(begins(longest.mean, shorter.mean));
      CHECK(begins(longest.std, shorter.std));
      CHECK(begins(longest.quantiles, shorter.quantiles));
      CHECK(begins(longest.samples, shorter.samples));
    }
  }
}

TEST_CASE("forecaster: figures that are not finite, dates and sizes that cannot be") {
  CHECK(error_of([] {
          forecast(Walk(0.5, false), days({1e300, 2e300, 1e300}), {.horizon = 2});
        }) ==
        "[forecast] the forecast is infinite, expected a finite number: values as large as 2e+300 are too large for a "
        "model that was trained on values of size 6");
  TimeSeries late = days({1, 2, 3});
  late.time_form.epoch = 2'932'896 - 13;
  CHECK(error_of([&] { forecast(Walk(0.5, false), late, {.horizon = 2}); }) ==
        "[forecast] the horizon ends after the year 9999, expected a nearer one");
  CHECK(
      error_of([] {
        forecast(Walk(0.5, false), days({1, 2, 3}), {.horizon = 4000, .samples = 60'000});
      }) ==
      "[forecast] 60000 paths of 4000 steps of 1 columns found, which are 240000000 values, expected at most 20000000");
}

TEST_CASE("forecaster: quantiles lie between paths in proportion, and the deviation is that of the paths themselves") {
  constexpr std::size_t kPaths = 300, kHorizon = 4, kWindow = 2;  // steps of a window, which the model answers itself
  const SeriesForecast said =
      forecast(Walk(0.5, true), days({1, 2, 8, 6}), {.horizon = kHorizon, .quantiles = {0.3, 0.5}, .samples = kPaths});
  REQUIRE(said.samples.size() == kPaths * kHorizon);
  for (std::size_t h = kWindow; h < kHorizon; ++h) {
    std::vector<double> values;
    double mean = 0, squares = 0;
    for (std::size_t i = 0; i < kPaths; ++i) values.push_back(said.samples[h * kPaths + i]);
    for (const double value : values) mean += value / kPaths;
    for (const double value : values) squares += (value - mean) * (value - mean);
    std::ranges::sort(values);
    CHECK(said.mean[h] == doctest::Approx(mean).epsilon(1e-9));
    CHECK(said.std[h] == doctest::Approx(std::sqrt(squares / kPaths)).epsilon(1e-9));
    // 0.3 and 0.5 of the way through 299 steps.
    CHECK(said.quantiles[2 * h] == doctest::Approx(0.3 * values[89] + 0.7 * values[90]).epsilon(1e-9));
    CHECK(said.quantiles[2 * h + 1] == doctest::Approx((values[149] + values[150]) / 2).epsilon(1e-9));
  }
}

TEST_CASE("forecaster: the same numbers every time, and others of another seed") {
  const ForecastOptions options{.horizon = 5, .samples = 2, .seed = 1};
  const auto samples = [&](const ForecastOptions& o) {
    return forecast(Walk(0.5, true), days({1, 2, 8, 6}), o).samples;
  };
  CHECK(samples(options) == samples(options));
  CHECK(samples(options) != samples({.horizon = 5, .samples = 2, .seed = 2}));
}

TEST_CASE("forecaster: errors") {
  CHECK(error_of([] {
          forecast(Walk(1, false), days({1, 2, kNaN, kNaN, 8}), {.horizon = 2});
        }) == "[forecast] 1 known points found in the last 3, expected 2 or more");
  TimeSeries numbers = days({1, 2, 3});
  numbers.time_form.kind = ColumnForm::Kind::number;
  CHECK(error_of([&] {
          Forecaster(Walk(1, false), {.context = 3, .horizon = 2, .calendar = {&calendar_features()[0]}}, {{0}, {1}})
              .forecast(numbers, {.horizon = 2});
        }) == "[forecast] times that are numbers found, expected dates for calendar features");
}
