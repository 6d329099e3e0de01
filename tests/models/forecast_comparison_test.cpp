#include "npzoo/models/applications/forecasts/forecast_comparison.h"

#include <cmath>
#include <tuple>

#include "npzoo/datasets/series/series_tasks.h"
#include "npzoo/models/applications/tables/fill.h"
#include "tests/forecast_series.h"
#include "tests/models/trained_fixture.h"
#include "tests/models/walk_model.h"

using namespace npzoo;
using namespace npzoo::testing;

namespace {

/// Forecasts the last value again, of a series with ten rows for training, five for validation and five for tests.
TrainedModel walk_on(const SeriesFile& file, bool keep_best = true) {
  const std::string data = file.data("context_before = true");
  Protocol protocol = parse_protocol(small_protocol("s", data), "f.toml");
  protocol.training.keep_best = keep_best;
  return as_trained({std::move(protocol), {"walk", {}}, 7}, std::make_unique<Walk>(0.5, false));
}

}  // namespace

TEST_CASE("forecast comparison: three ways on windows that the training has not seen") {
  const SeriesFile file(hours(20));
  // Hour i has the value i², and the horizons of tests begin at the hours 15 … 18, those of validations at 10 … 13.
  for (const auto& [keep_best, windows, error] : {std::tuple{true, 4, 49.0}, {false, 8, 41.5}}) {
    const TrainedModel trained = walk_on(file, keep_best);
    const ForecastComparison found = compare_forecasts(trained);
    CHECK(found.windows == windows);
    REQUIRE(found.scores.size() == 3);
    // No two hours of training are a day apart.
    const double unit = trained.checkpoint.run.protocol.data->as_series()->scale().std[0];
    CHECK(found.scores[0].mase == doctest::Approx(error / unit));
    CHECK(found.scores[0].crps < found.scores[0].mase);
    CHECK(found.scores[2].mase == doctest::Approx(error / unit));
    CHECK(found.scores[2].crps == doctest::Approx(error / unit));
    CHECK(found.best() == ForecastWay::untrained);
  }
}

TEST_CASE("forecast comparison: no training is the default of fill, from the rows before a window") {
  const SeriesFile file(hours(20));
  const TrainedModel trained = walk_on(file);
  const ForecastComparison found = compare_forecasts(trained, {.windows = 1});
  CHECK(found.windows == 1);
  std::vector<double> x, y;
  for (int i = 0; i < 15; ++i) {
    x.push_back(i / 24.0);
    y.push_back(i * i);
  }
  const std::vector<double> targets{15 / 24.0, 16 / 24.0};
  const ColumnForm days{.kind = ColumnForm::Kind::time, .epoch = 18'320};
  const FillResult filled = fill("", {.x = x, .values = {y}, .targets = targets, .x_forms = {days}});
  const double unit = trained.checkpoint.run.protocol.data->as_series()->scale().std[0];
  const double error = std::abs(225 - filled.columns[0].mean[0]) + std::abs(256 - filled.columns[0].mean[1]);
  CHECK(found.scores[1].mase == doctest::Approx(error / 2 / unit).epsilon(1e-3));
}

TEST_CASE("forecast comparison: windows after a missing value are left out") {
  const SeriesFile file(hours(20, {14, 16}));
  CHECK(compare_forecasts(walk_on(file)).windows == 2);
  const SeriesFile gaps(hours(20, {14, 15, 16, 17}));
  const ForecastComparison none = compare_forecasts(walk_on(gaps));
  CHECK(none.windows == 0);
  CHECK(none.scores.empty());
}

TEST_CASE("forecast comparison: no training is recommended unless another way is clearly better") {
  const auto best = [](const std::vector<double>& trained, std::int64_t separate) {
    ForecastComparison c{.windows = 4, .separate = separate};
    const auto add = [&](ForecastWay way, const std::vector<double>& crps) {
      double mean = 0;
      for (const double value : crps) mean += value / 4;
      c.scores.push_back({.way = way, .crps = mean, .window_crps = crps});
    };
    add(ForecastWay::trained, trained);
    add(ForecastWay::untrained, {1, 2, 1, 2});
    add(ForecastWay::seasonal_naive, {3, 3, 3, 3});
    return c.best();
  };
  CHECK(best({0.5, 1.4, 0.5, 1.4}, 4) == ForecastWay::trained);
  CHECK(best({0.5, 1.4, 0.5, 1.4}, 1) == ForecastWay::untrained);  // no error is known
  CHECK(best({0.1, 2.5, 0.1, 2.5}, 4) == ForecastWay::untrained);
  CHECK(best({2, 3, 2, 3}, 4) == ForecastWay::untrained);
  CHECK_THROWS_AS(static_cast<void>(ForecastComparison().best()), Error);
}
