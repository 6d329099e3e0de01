#include <algorithm>
#include <cmath>

#include "npzoo/datasets/tables/date_time.h"
#include "npzoo/engine/error.h"
#include "npzoo/models/applications/tables/fill.h"
#include "tests/models/trained_fixture.h"
#include "tests/models/training_fixtures.h"

using namespace npzoo;
using namespace npzoo::testing;

namespace {

const ColumnForm kDates{.kind = ColumnForm::Kind::time, .epoch = parse_date_time("2024-01-01")->day};

/// Rows of a table with one input. Values of rows that are asked are the truth.
struct Rows {
  std::vector<double> x{}, y{}, truth{};

  void add(double at, double value, bool asked) {
    x.push_back(at);
    y.push_back(asked ? kNaN : value);
    truth.push_back(asked ? value : kNaN);
  }
  FillData data(ColumnForm form = kDates) const { return {.x = x, .values = {y}, .truth = {truth}, .x_forms = {form}}; }
};

/// Eight years of months with a sharp season; 20 holes and, behind the last row, 12 months.
Rows monthly() {
  Rows rows;
  Random random(2);
  std::vector<double> effect;
  for (int m = 0; m < 12; ++m) effect.push_back(6 * random.normal());
  for (int t = 0; t < 108; ++t) {
    const double value = 50 + 0.1 * t + effect[static_cast<std::size_t>(t % 12)] + random.normal();
    rows.add(t * 30.4375, value, t >= 96 || (t > 4 && t % 5 == 1));
  }
  return rows;
}

bool warns(const FillResult& result, const std::string& about) {
  return std::ranges::find(result.warnings, about, &Warning::about) != result.warnings.end();
}

std::string text_of(const FillResult& result, const std::string& about) {
  const auto found = std::ranges::find(result.warnings, about, &Warning::about);
  return found == result.warnings.end() ? "" : found->text;
}

/// Mean absolute error and mean deviation of the rows behind `begin`.
double error_behind(const FillResult& result, const Rows& rows, double begin) {
  double sum = 0, count = 0;
  for (std::size_t i = 0; i < rows.x.size(); ++i)
    if (rows.x[i] >= begin && !std::isnan(rows.truth[i])) {
      sum += std::abs(result.columns[0].mean[i] - rows.truth[i]);
      ++count;
    }
  return sum / count;
}

}  // namespace

TEST_CASE("holes of a series with a season use it, and say so") {
  const Rows rows = monthly();
  FillOptions alone;
  alone.combine_ends = false;
  const FillResult seasonal = fill(weights_of_tables(), rows.data({}), {.quantiles = {0.5}, .samples = 2}),
                   plain = fill(weights_of_tables(), rows.data({}), alone);
  REQUIRE(seasonal.holes.size() == 1);
  CHECK(seasonal.holes[0].periods[0] == 12);
  CHECK(seasonal.holes[0].share > 0.5);
  CHECK(seasonal.holes[0].hidden >= 20);
  CHECK(plain.holes.empty());
  CHECK(seasonal.scores[0].crps < 0.6 * plain.scores[0].crps);
  CHECK(seasonal.scores[0].coverage_95 > 0.9);
  CHECK(std::ranges::any_of(seasonal.report.comments(), [](const std::string& line) {
    return line.starts_with("holes: ") && line.find("of 12") != std::string::npos;
  }));
  const PredictedColumn& c = seasonal.columns[0];
  CHECK(c.quantiles[6] == doctest::Approx(c.mean[6]));
  CHECK(std::abs(c.samples[12] - c.mean[6]) < 6 * c.std[6]);
  CHECK(c.samples[12] != c.samples[13]);
  set_threads(1);
  CHECK(fill(weights_of_tables(), rows.data({}), {.quantiles = {0.5}, .samples = 2}).columns[0].samples == c.samples);
  set_threads(0);
}

TEST_CASE("a given period is used in holes, and a series without a season keeps its predictions") {
  const Rows rows = monthly();
  CHECK(fill(weights_of_tables(), rows.data({}), {.periods = {"12"}}).holes[0].periods == std::vector<double>{12});
  Rows walk;
  Random random(3);
  double level = 0;
  for (int t = 0; t < 90; ++t) walk.add(t, level += random.normal(), t % 7 == 3);
  FillOptions alone;
  alone.combine_ends = false;
  const FillResult filled = fill(weights_of_tables(), walk.data({}));
  CHECK(filled.holes.empty());
  CHECK(filled.columns[0].mean == fill(weights_of_tables(), walk.data({}), alone).columns[0].mean);
}

TEST_CASE("a row that is written twice, limits, counts and jitter leave the methods of a table as they are") {
  const Rows rows = monthly();
  const FillResult before = fill(weights_of_tables(), rows.data({}));
  const double error = error_behind(before, rows, 96 * 30.4375), score = before.scores[0].crps;
  Rows twice = rows;
  twice.add(rows.x[40], rows.y[40] + 0.2, false);
  const FillResult averaged = fill(weights_of_tables(), twice.data({}));
  CHECK(averaged.ends.size() == 1);
  CHECK(averaged.holes.size() == 1);
  CHECK(averaged.scores[0].crps == doctest::Approx(score).epsilon(0.05));
  CHECK(text_of(averaged, "averaged values").starts_with("1 value is at a time that another row"));
  Rows jitter = rows;
  Random random(4);
  for (double& x : jitter.x) x += 5 * random.uniform();
  const FillResult moved = fill(weights_of_tables(), jitter.data({}));
  CHECK(error_behind(moved, rows, 96 * 30.4375) < 1.2 * error);
  CHECK(warns(moved, "moved times"));
  for (const TransformOptions& transform :
       {TransformOptions{.low = 0}, TransformOptions{.kind = ValueTransform::Kind::log, .low = 0},
        TransformOptions{.automatic = true}}) {
    const FillResult limited = fill(weights_of_tables(), rows.data({}), {.transform = transform});
    CHECK(limited.ends.size() == 1);
    CHECK(limited.holes.size() == 1);
    CHECK(limited.scores[0].crps < 1.3 * score);
  }
  Rows counts = rows;
  for (auto* values : {&counts.y, &counts.truth})
    for (double& y : *values) y = std::round(y);
  const FillResult counted = fill(weights_of_tables(), counts.data({}), {.transform = {.counts = true}});
  CHECK(counted.ends.size() == 1);
  CHECK(counted.scores[0].crps < 1.3 * score);
}

TEST_CASE("opening hours are forecast as steps of their own") {
  Rows rows;
  Random random(5);
  for (int d = 0; d < 29; ++d)
    for (int h = 8; h < 20; ++h)
      if (d % 7 != 6)
        rows.add(d + h / 24.0, 20 + 5 * std::sin(h / 3.0) + (d % 7 == 5 ? 3 : 0) + 0.5 * random.normal(), d >= 27);
  const FillResult result = fill(weights_of_tables(), rows.data());
  REQUIRE(result.ends.size() == 1);
  CHECK(result.scores[0].mae < 0.8);
  for (std::size_t i = 0; i < rows.x.size(); ++i) CHECK(result.columns[0].std[i] < 2);
  CHECK_FALSE(warns(result, "closed times"));
}

TEST_CASE("a weekday without values gets a warning and a wide deviation") {
  Rows rows;
  Random random(6);
  for (int d = 0; d < 126; ++d)
    if (d % 7 < 5 || d >= 119) rows.add(d, 100 + 4 * (d % 7 == 1) + 0.5 * random.normal(), d >= 119);
  const FillResult result = fill(weights_of_tables(), rows.data());
  REQUIRE(result.ends.size() == 1);
  CHECK(result.ends[0].closed == std::vector<bool>{false, false, false, false, false, true, true});
  const auto& std = result.columns[0].std;
  CHECK(std[std.size() - 1] > 2 * std[std.size() - 3]);
  CHECK(text_of(result, "closed times")
            .starts_with("2 rows are at times at which the series never has a value, such "
                         "as 2024-05-04 (its steps are 1 day, 5 of the 7 in a week)"));
}

TEST_CASE("a blank row at a closed time between values is filled by the weights, with a warning") {
  Rows rows;
  Random random(6);
  for (int d = 0; d < 126; ++d)
    if (d % 7 < 5 || d == 61) rows.add(d, 100 + 4 * (d % 7 == 1) + 0.5 * random.normal(), d == 59 || d == 61);
  const FillResult result = fill(weights_of_tables(), rows.data());
  CHECK(text_of(result, "closed times between values") ==
        "1 row is at times at which the series never has a value, such as 2024-03-02 (its steps are 1 day, 5 of the 7 "
        "in a week): filled by the weights alone, without a season");
  CHECK_FALSE(warns(result, "closed times"));
}

TEST_CASE("rows between the steps after an end are between the forecasts") {
  Rows rows;
  Random random(7);
  for (int t = 0; t < 80; ++t) rows.add(t, 3 * t + random.normal(), t >= 72);
  for (const double at : {71.5, 72.25}) rows.add(at, 3 * at, true);
  const FillResult result = fill(weights_of_tables(), rows.data({}));
  REQUIRE(result.ends.size() == 1);
  const auto& mean = result.columns[0].mean;
  CHECK(mean[81] == doctest::Approx(0.75 * mean[72] + 0.25 * mean[73]));
  CHECK(mean[80] == doctest::Approx(0.5 * rows.y[71] + 0.5 * mean[72]));
}

TEST_CASE("an end without a calendar is forecast by the weights alone, with a warning") {
  Rows rows;
  Random random(8);
  double at = 0;
  for (int i = 0; i < 60; ++i) rows.add(at += -std::log(random.uniform()), random.normal(), i >= 55);
  const FillResult result = fill(weights_of_tables(), rows.data());
  CHECK(result.ends.empty());
  CHECK(text_of(result, "weights alone") ==
        "the end of a series is forecast by the weights alone, without smoothing and seasons: its times have no steps "
        "in common");
  CHECK_FALSE(warns(fill(weights_of_tables(), rows.data({})), "weights alone"));  // numbers need not be times
  Rows few;
  for (int i = 0; i < 9; ++i) few.add(i, i, i >= 6);
  CHECK(text_of(fill(weights_of_tables(), few.data()), "weights alone").ends_with("it has fewer than eight values"));
}

TEST_CASE("every transform answers holes and ends with every kind of calendar") {
  const auto table = [](auto at, int steps) {
    Rows rows;
    Random random(9);
    for (int t = 0; t < steps; ++t)
      rows.add(at(t), std::round(30 + 10 * (t % 7 == 2) + 2 * random.normal()), t >= steps - 5 || t % 11 == 4);
    return rows;
  };
  const auto business = [](int t) { return t / 5 * 7.0 + t % 5; };
  const auto gap = [](int t) { return t + (t > 40 ? 30.0 : 0); };
  const auto shaky = [](int t) { return t + 0.1 * std::sin(t * t); };
  for (const Rows& rows :
       {table([](int t) { return 1.0 * t; }, 80), table(business, 80), table(gap, 80), table(shaky, 80)})
    for (const ColumnForm& form : {kDates, ColumnForm{}})
      for (const TransformOptions& transform :
           {TransformOptions{}, TransformOptions{.low = 0}, TransformOptions{.counts = true},
            TransformOptions{.kind = ValueTransform::Kind::sqrt, .low = 0}, TransformOptions{.automatic = true}}) {
        const FillResult result =
            fill(weights_of_tables(), rows.data(form), {.quantiles = {0.05, 0.95}, .transform = transform});
        CHECK(result.unanswered == 0);
        CHECK(result.ends.size() == 1);
        CHECK(result.scores[0].crps < 4);
        for (std::size_t i = 0; i < rows.x.size(); ++i) {
          CHECK(result.columns[0].std[i] > 0);
          CHECK(result.columns[0].quantiles[2 * i] <= result.columns[0].quantiles[2 * i + 1]);
        }
      }
}

TEST_CASE("whole numbers that are often 0 are forecast as counts, and the answer says so") {
  Rows rows;
  Random random(10);
  for (int t = 0; t < 90; ++t) rows.add(t, random.uniform() < 0.5 ? 0 : 1 + std::floor(5 * random.uniform()), t >= 80);
  const FillResult result = fill(weights_of_tables(), rows.data({}), {.quantiles = {0.05, 0.9}});
  REQUIRE(result.ends.size() == 1);
  CHECK(result.ends[0].transform.counts);
  for (std::size_t i = 160; i < 180; ++i) {
    const double q = result.columns[0].quantiles[i];
    CHECK((q >= 0 && q == std::floor(q)));
  }
  CHECK(std::ranges::any_of(result.report.comments(), [](const std::string& line) {
    return line.starts_with("ends: 1 of 1 series are forecast as counts");
  }));
  const FillResult plain =
      fill(weights_of_tables(), rows.data({}), {.transform = {.kind = ValueTransform::Kind::none}});
  CHECK_FALSE(plain.ends[0].transform.counts);
  const auto repeated = [](std::vector<double> some) {
    std::vector<double> all;
    for (int i = 0; i < 5; ++i) all.insert(all.end(), some.begin(), some.end());
    return usual_transform(all);
  };
  CHECK_FALSE(repeated({0, 1, 0, 1, 1}).counts);
  CHECK_FALSE(repeated({0, 2.5, 0, 1, 1}).counts);
  CHECK_FALSE(repeated({0, -2, 0, 1, 1}).counts);
  CHECK_FALSE(usual_transform(std::vector<double>{0, 2, 3, 1, 1}).counts);  // too few
  CHECK(repeated({0, 2, 3, 1, 1}).kind == ValueTransform::Kind::none);
  CHECK(repeated({0, 2, 3, 0, 1}).kind == ValueTransform::Kind::sqrt);
}

TEST_CASE("rows far after an end are left to the weights, with a warning") {
  Rows rows;
  for (int t = 0; t < 30; ++t) rows.add(t, t % 5, t >= 28);
  for (const double at : {400.0, 1e9, 1e300}) rows.add(at, 0, true);
  const FillResult result = fill(weights_of_tables(), rows.data({}));
  REQUIRE(result.ends.size() == 1);
  CHECK(result.ends[0].rows.size() == 2);
  CHECK(text_of(result, "far rows").starts_with("3 rows are further after the end than ten times"));
}
