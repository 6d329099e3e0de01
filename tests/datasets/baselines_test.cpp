#include "npzoo/datasets/series/baselines.h"

#include <doctest/doctest.h>

#include <cmath>

#include "tests/testing.h"

using namespace npzoo;
using namespace npzoo::testing;

namespace {

using Series = std::vector<double>;

Series smoothed(const HoltWinters& parameters, const Series& y, std::int64_t horizon) {
  return HoltWintersPath(parameters, y).forecast(std::ssize(y), horizon);
}

}  // namespace

TEST_CASE("baselines: persistence repeats the last known value") {
  CHECK(persistence(Series{1, kNaN, 3, kNaN}, 2) == Series{3, 3});
  CHECK(std::isnan(persistence(Series{kNaN}, 1)[0]));
  CHECK(persistence_one_step(Series{1, 2, kNaN, 4, 5}, 1) == Series{1, 2, 2, 4});
  CHECK(std::isnan(persistence_one_step(Series{kNaN, 2}, 1)[0]));
}

TEST_CASE("baselines: the seasonal one repeats the last season, and an earlier one where there are gaps") {
  CHECK(seasonal_naive(Series{1, 2, 3, 4, 5}, 5, 3) == Series{3, 4, 5, 3, 4});
  CHECK(seasonal_naive(Series{1, 2, 3, 4, kNaN}, 4, 2) == Series{4, 3, 4, 3});
  CHECK(seasonal_naive(Series{1, 2, kNaN}, 3, 4) == Series{2, 1, 2});
  CHECK(seasonal_naive(Series{1, 2}, 2, 1) == Series{2, 2});
}

TEST_CASE("baselines: drift is the line through the first and the last") {
  CHECK(drift(Series{1, kNaN, 5}, 2) == Series{7, 9});
  CHECK(drift(Series{kNaN, 1, 3, kNaN}, 2) == Series{7, 9});
  CHECK(drift(Series{kNaN, 2}, 2) == Series{2, 2});
}

TEST_CASE("baselines: Holt-Winters by hand") {
  CHECK(smoothed({.alpha = 1}, {4, 7, 5}, 2) == Series{5, 5});
  CHECK(smoothed({.alpha = 0.5, .beta = 0.5}, {0, 2}, 2) == Series{1.5, 2});
  CHECK(smoothed({.alpha = 0.5, .beta = 0.5}, {kNaN, 0, 2, kNaN}, 2) == Series{2, 2.5});
  CHECK(smoothed({.gamma = 1, .period = 2}, {10, 12, 10, 12}, 3) == Series{10, 12, 10});
  CHECK(smoothed({.alpha = 0.5, .gamma = 1, .period = 2}, {0, 4}, 2) == Series{2, 4});
  CHECK(HoltWintersPath({.alpha = 0.5}, Series{0, 2, 1}).one_step_mse() == 2);  // of errors 2 and 0
  const Series steps{0, 0, 0, 1, 2, kNaN, 2};
  CHECK(HoltWintersPath({.alpha = 1}, steps).mse(steps, 2) == (1 + 4 + 1 + 0) / 4.0);  // from places 3, 4 and 5 on
  const HoltWintersPath path({.alpha = 1}, Series{4, 7, 5});
  CHECK(path.forecast(2, 1) == Series{7});
  CHECK(error_of([] { HoltWintersPath({.period = 0}, Series{1}); }) ==
        "[forecast] a season of 0 places found, expected 1 or more");
}

TEST_CASE("baselines: Holt-Winters finds the parts of a series") {
  Series line, wave;
  Random random(1);
  for (int t = 0; t < 240; ++t) {
    line.push_back(3 * t);
    wave.push_back(std::sin(2 * M_PI * t / 12) + 0.001 * random.normal());
  }
  const HoltWinters trending = HoltWinters::fit(line, 1, 3), seasonal = HoltWinters::fit(wave, 12, 12);
  CHECK(largest_difference(Tensor::from<double>({3}, smoothed(trending, line, 3)), {720, 723, 726}) < 0.01);
  const Series ahead = smoothed(seasonal, wave, 12);
  for (int h = 0; h < 12; ++h) CHECK(std::abs(ahead[h] - std::sin(2 * M_PI * h / 12)) < 0.01);
  const double found = HoltWintersPath(seasonal, wave).mse(wave, 12);
  for (const double alpha : {0.0, 0.3, 0.7, 1.0})
    for (const double gamma : {0.0, 0.3, 0.7, 1.0})
      CHECK(found <= HoltWintersPath({alpha, seasonal.beta, gamma, 12}, wave).mse(wave, 12));
}

TEST_CASE("baselines: seasons are those of clocks and calendars") {
  const auto season = [](const SeriesCalendar::Rule& rule, ColumnForm::Kind kind = ColumnForm::Kind::time) {
    const ColumnForm form{.kind = kind};
    return season_of({.time_form = form, .calendar = SeriesCalendar(rule, form)});
  };
  const auto of_days = [&](double step) { return season(EqualSteps{.step = step}); };
  CHECK(of_days(1.0 / 24) == 24);
  CHECK(of_days(1.0 / 96) == 96);
  CHECK(of_days(1) == 7);
  CHECK(of_days(7) == 52);
  CHECK(of_days(0.3) == 23);  // of a week
  CHECK(of_days(400) == 1);
  CHECK(season(EqualSteps{.step = 1.0 / 24}, ColumnForm::Kind::number) == 1);
  const auto of_months = [&](std::int64_t months) { return season(CalendarStep{.months = months}); };
  CHECK(of_months(1) == 12);
  CHECK(of_months(3) == 4);
  CHECK(of_months(12) == 1);
  CHECK(of_months(24) == 1);
  CHECK(season(CalendarStep{.days = {1, 15}}) == 24);
  CHECK(season(OpenTimes{.open = {0, 1, 2, 3, 4}}) == 5);
  CHECK(season_of({.time_form = {.kind = ColumnForm::Kind::time}, .step = 1}) == 1);  // places are rows
}
