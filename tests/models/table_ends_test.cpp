#include "npzoo/models/applications/tables/table_ends.h"

#include <cmath>

#include "npzoo/engine/error.h"
#include "npzoo/models/applications/tables/fill.h"
#include "tests/models/trained_fixture.h"
#include "tests/models/training_fixtures.h"

using namespace npzoo;
using namespace npzoo::testing;

namespace {

/// Two groups of a rising series with a sharp cycle of four steps, and eight steps behind each.
struct RisingExample {
  std::vector<double> x, y, truth;
  std::vector<std::uint32_t> groups;

  RisingExample() {
    Random random(3);
    for (std::uint32_t g = 0; g < 2; ++g)
      for (int t = 0; t < 56; ++t) {
        const double value = 10 + 0.5 * t + (t % 4 == 1 ? 5 : 0) + 0.1 * random.normal();
        x.push_back(t);
        y.push_back(t < 48 ? value : kNaN);
        truth.push_back(t < 48 ? kNaN : value);
        groups.push_back(g);
      }
  }
  FillData data() const { return {.x = x, .values = {y}, .groups = groups, .truth = {truth}}; }
};

}  // namespace

TEST_CASE("forecasts after the end of a rising seasonal series follow both, by default") {
  const RisingExample e;
  const FillOptions options{.quantiles = {0.1, 0.5}, .samples = 3};
  FillOptions weights_alone = options;
  weights_alone.combine_ends = false;
  const FillResult combined = fill(weights_of_tables(), e.data(), options),
                   alone = fill(weights_of_tables(), e.data(), weights_alone);
  CHECK(combined.report.combined_ends == 2);
  CHECK(alone.report.combined_ends == 0);
  CHECK(combined.scores[0].mae < 0.5);
  CHECK(combined.scores[0].crps < 0.5 * alone.scores[0].crps);
  CHECK(combined.columns[0].mean[3] == alone.columns[0].mean[3]);
  const PredictedColumn& c = combined.columns[0];
  for (const std::size_t row : {std::size_t{50}, std::size_t{111}}) {
    CHECK(c.quantiles[2 * row] < c.quantiles[2 * row + 1]);
    CHECK(c.quantiles[2 * row + 1] == doctest::Approx(c.mean[row]));
  }
  set_threads(1);
  const FillResult again = fill(weights_of_tables(), e.data(), options);
  set_threads(0);
  CHECK(again.columns[0].mean == c.mean);
  CHECK(again.columns[0].samples == c.samples);
}

TEST_CASE("samples after the end of a series are paths, whatever else is asked") {
  // Half a walk: the errors of one step stay in all later ones, so steps that follow each other agree.
  std::vector<double> x, y;
  Random random(8);
  double level = 20;
  for (int t = 0; t < 70; ++t) {
    level += random.normal();
    x.push_back(t);
    y.push_back(t < 60 ? level : kNaN);
  }
  constexpr std::size_t kPaths = 400;
  const FillResult result = fill(weights_of_tables(), {.x = x, .values = {y}}, {.samples = kPaths});
  const PredictedColumn& c = result.columns[0];
  double products = 0;
  for (std::size_t s = 0; s < kPaths; ++s) {
    const auto error = [&](std::size_t row) { return (c.samples[row * kPaths + s] - c.mean[row]) / c.std[row]; };
    products += error(68) * error(69);
  }
  CHECK(products / kPaths > 0.7);
  REQUIRE(result.ends.size() == 1);
  const std::vector<double> three = result.ends[0].paths(3);
  REQUIRE(three.size() == 30);
  for (std::size_t s = 0; s < 3; ++s)
    for (std::size_t h = 0; h < 10; ++h) CHECK(three[10 * s + h] == c.samples[(60 + h) * kPaths + s]);
  const FillResult shorter =
      fill(weights_of_tables(), {.x = std::span(x).first(65), .values = {std::span(y).first(65)}}, {.samples = 3});
  for (std::size_t h = 0; h < 5; ++h) {
    const auto error = [&](const FillResult& of, std::size_t s) {  // of a path, as a standard normal number
      return of.ends[0].forecast.combined.step(h).inverse(of.columns[0].samples[(60 + h) * of.samples + s]);
    };
    CHECK(error(shorter, 2) == doctest::Approx(error(result, 2)));
  }
}

TEST_CASE("the end of a series after a long gap is forecast without scores of held-out parts") {
  std::vector<double> x, y;
  Random random(6);
  for (int t = 0; t < 60; ++t) {
    x.push_back(t);
    y.push_back(t < 32 || t == 53 ? 10 + random.normal() : kNaN);
  }
  const FillResult result = fill(weights_of_tables(), {.x = x, .values = {y}});
  REQUIRE(result.ends.size() == 1);
  double sum = 0;
  for (const double share : result.ends[0].forecast.shares) sum += share;
  CHECK(sum == doctest::Approx(1));
  for (const double mean : result.columns[0].mean) CHECK((mean > 5 && mean < 15));
}

TEST_CASE("the forecast of a series of one value allows for the rounding of that value") {
  for (const auto& [value, decimals] : {std::pair{7.5, 1}, {1200.0, 0}, {0.0, 0}, {-0.0625, 4}}) {
    const double captured = value;
    CAPTURE(captured);
    std::vector<double> x, y;
    for (int t = 0; t < 30; ++t) {
      x.push_back(t);
      y.push_back(t < 24 ? value : kNaN);
    }
    const FillResult found = fill(weights_of_tables(), {.x = x, .values = {y}}, {.samples = 200});
    const double rounding = std::pow(10, -decimals) / std::sqrt(12.0);
    for (std::size_t i = 24; i < 30; ++i) {
      CHECK(found.columns[0].mean[i] == doctest::Approx(value).epsilon(1e-9).scale(rounding));
      CHECK(found.columns[0].std[i] == doctest::Approx(rounding));
    }
  }
}

TEST_CASE("forecasts by logarithms have the mean of skewed values, and not their median") {
  std::vector<double> x, y;
  Random random(12);
  double mean = 0;
  for (int t = 0; t < 126; ++t) {
    x.push_back(t);
    y.push_back(t < 120 ? std::exp(0.6 * random.normal()) : kNaN);
    if (t < 120) mean += y.back() / 120;
  }
  const FillResult found = fill(weights_of_tables(), {.x = x, .values = {y}});
  const double forecast = found.ends.at(0).forecast.of(EndMethod::logarithms).step(0).moments().mean;
  CHECK(forecast > 0.92 * mean);  // the median is exp(-0.18) = 0.84 times the mean
  CHECK(forecast < 1.15 * mean);
}

TEST_CASE("what covariates explain is part of forecasts, of paths and of other methods") {
  std::vector<double> x, y, truth;
  Random random(12);
  for (int t = 0; t < 66; ++t) {
    const double known = t % 5 == 2 || t == 63 ? 1 : 0, value = 4 + 8 * known + 0.2 * random.normal();
    x.insert(x.end(), {static_cast<double>(t), known});
    y.push_back(t < 60 ? value : kNaN);
    truth.push_back(t < 60 ? kNaN : value);
  }
  const FillData data{.dim_x = 2, .x = x, .values = {y}, .truth = {truth}, .covariates = 1};
  CHECK(usual_weights(data) == default_weights(1));
  const FillResult result = fill("", data, {.samples = 4, .baselines = true});
  REQUIRE(result.ends.size() == 1);
  const std::vector<double> paths = result.ends[0].paths(4);
  for (std::size_t s = 0; s < 4; ++s)
    for (std::size_t h = 0; h < 6; ++h)
      CHECK(paths[6 * s + h] == doctest::Approx(result.columns[0].samples[(60 + h) * 4 + s]));
  for (const BaselineScores& other : result.baselines)
    if (other.name == "exponential smoothing") CHECK(other.scores[0].mae < 0.5);
  CHECK(result.scores[0].mae < 0.5);
}

TEST_CASE("other methods are scored on the rows after the end alone") {
  RisingExample e;
  e.y[5] = kNaN;  // a gap
  e.truth[5] = 12.5;
  const FillResult result = fill(weights_of_tables(), e.data(), {.baselines = true});
  std::vector<std::string> names;
  for (const BaselineScores& b : result.baselines) names.push_back(b.name);
  CHECK(names == std::vector<std::string>{"gp", "linear interpolation", "exponential smoothing", "theta", "drift",
                                          "seasonal naive"});
  CHECK(result.baselines[0].scores[0].rows == 17);
  for (std::size_t i = 2; i < 6; ++i) {
    CHECK(result.baselines[i].scores[0].rows == 16);
    CHECK(result.baselines[i].scores[0].crps > 0);
  }
  // The last season again, four steps before: it misses the rise of 0.5 a step by 2 and then by 4.
  CHECK(result.baselines[5].scores[0].mae == doctest::Approx(3).epsilon(0.1));
}

TEST_CASE("a given period is used, and a bad one is an error") {
  const RisingExample e;
  CHECK(fill(weights_of_tables(), e.data(), {.periods = {"4"}}).scores[0].mae < 0.5);
  CHECK_THROWS_WITH_AS(static_cast<void>(fill(weights_of_tables(), e.data(), {.periods = {"1y"}})),
                       doctest::Contains("the period 1y found, expected two or more steps"), Error);
  CHECK_THROWS_AS(static_cast<void>(fill(weights_of_tables(), e.data(), {.periods = {"1"}})), Error);
}

TEST_CASE("the check of forecasts scores every method on the hidden last season") {
  const RisingExample e;
  const std::vector<EndScore> scores = fill(weights_of_tables(), e.data(), {.check_ends = true}).end_scores;
  REQUIRE(scores.size() == kEndMethods + 1);
  CHECK(scores[0].method == "combination");
  CHECK(scores[0].values == 12);
  for (const EndScore& s : scores) CHECK((s.crps > 0 && s.coverage_95 <= 1));
  RisingExample negative;
  negative.y[60] = -3;  // of the second group, so there are no logarithms for both
  const std::vector<EndScore> without = fill(weights_of_tables(), negative.data(), {.check_ends = true}).end_scores;
  REQUIRE(without.size() == kEndMethods - 1);
  for (const EndScore& s : without) CHECK((s.crps > 0 && s.values == 12));
  const std::vector<double> x{1, 2, 3}, y{1, 2, 3};
  CHECK(fill(weights_of_tables(), {.x = x, .values = {y}}, {.check_ends = true}).end_scores.empty());
}

TEST_CASE("counts that are often 0 are never forecast below 0") {
  std::vector<double> x, y, truth;
  Random random(9);
  for (int t = 0; t < 40; ++t) {
    x.push_back(t);
    truth.push_back(t < 32 ? kNaN : t % 3 == 0 ? 4 : 0);
    y.push_back(t < 32 ? (random.uniform() < 0.6 ? 0 : 4 * random.uniform()) : kNaN);
  }
  const FillResult result =
      fill(weights_of_tables(), {.x = x, .values = {y}, .truth = {truth}}, {.quantiles = {0.05}, .samples = 20});
  const PredictedColumn& c = result.columns[0];
  for (std::size_t row = 32; row < 40; ++row) {
    CHECK(c.quantiles[row] == 0);
    CHECK(c.mean[row] > 0);
    for (std::size_t k = 0; k < 20; ++k) CHECK(c.samples[20 * row + k] >= 0);
    CHECK((c.crps[row] >= 0 && c.crps[row] <= std::abs(truth[row] - c.mean[row]) + c.std[row]));
  }
}

TEST_CASE("rows at places of a season that never has a value get a wide deviation and a warning") {
  // Weeks without July and August, as of a school.
  std::vector<double> x, y;
  Random random(4);
  for (int week = 0; week < 3 * 52 + 34; ++week) {
    if (week % 52 >= 26 && week % 52 < 35 && week < 3 * 52) continue;
    x.push_back(7 * week);
    y.push_back(week < 3 * 52 + 26 ? 100 + 5 * std::sin(2 * 3.14159265 * week / 52) + 0.4 * random.normal() : kNaN);
  }
  const FillData weeks{.x = x, .values = {y}, .x_forms = {ColumnForm{.kind = ColumnForm::Kind::time}}};
  const FillResult result = fill(weights_of_tables(), weeks, {});
  const PredictedColumn& c = result.columns[0];
  CHECK(c.std.back() > 1.5);
  CHECK(std::abs(c.mean.back() - 100) < 10);
  CHECK(std::ranges::find(result.warnings, "closed times", &Warning::about) != result.warnings.end());
}

TEST_CASE("rows of a series with two values of each time are as uncertain as single values") {
  // Two stations that no column tells apart.
  std::vector<double> x, y;
  Random random(5);
  for (int t = 0; t < 44; ++t)
    for (const double level : {10.0, 100.0}) {
      x.push_back(t);
      y.push_back(t < 40 && t != 20 ? level + std::sin(t) + 0.3 * random.normal() : kNaN);
    }
  const FillResult result = fill(weights_of_tables(), {.x = x, .values = {y}}, {});
  for (const std::size_t row : {std::size_t{40}, std::size_t{82}}) {
    CHECK(std::abs(result.columns[0].mean[row] - 55) < 30);
    CHECK(result.columns[0].std[row] > 30);
  }
}
