#include <fstream>
#include <sstream>

#include "npzoo/datasets/gaussian_mixture.h"
#include "npzoo/datasets/series/series_tasks.h"
#include "npzoo/engine/cancellation.h"
#include "npzoo/models/applications/forecasts/forecast.h"
#include "tests/forecast_series.h"
#include "tests/models/trained_fixture.h"
#include "tests/models/walk_model.h"

using namespace npzoo;
using namespace npzoo::testing;

namespace {

TrainedModel walk_weights(const SeriesFile& file, bool along = false) {
  TrainingRun run{parse_protocol(small_protocol("s", file.data()), "f.toml"), {"walk", {}}, 7};
  return as_trained(std::move(run), std::make_unique<Walk>(0.5, along));
}

std::string file_text(const std::filesystem::path& path) {
  std::stringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

}  // namespace

TEST_CASE("forecast: a series of a table and of arrays, as the forecaster continues it") {
  const SeriesFile file(hours(20));
  const TrainedModel trained = walk_weights(file, true);
  const ForecastColumns columns = forecast_columns(trained);
  CHECK(columns.time == "date");
  CHECK(columns.values == std::vector<std::string>{"v"});
  const TimeSeries series = read_series(file.path, columns);
  const ForecastOptions options{.horizon = 5, .quantiles = {0.5}, .samples = 3};
  const ForecastResult found = forecast(trained, series, columns, options);
  const auto& config = *trained.checkpoint.run.protocol.data->as_series();
  const SeriesForecast expected = Forecaster(*trained.model, config.rules(), config.scale())
                                      .forecast(series, {.horizon = 5, .quantiles = {0.5}, .samples = 3, .seed = 7});
  CHECK(found.forecast.mean == expected.mean);
  CHECK(found.forecast.quantiles == expected.quantiles);
  CHECK(found.forecast.samples == expected.samples);
  CHECK(found.time(0) == "2020-02-29T16:00:00");
  CHECK(found.context_steps == 3);
  CHECK(found.warnings.empty());

  std::vector<double> time, values;
  for (int i = 19; i >= 0; --i) {
    time.push_back(static_cast<double>(i) / 24);
    values.push_back(i * i);
  }
  const ColumnForm days{.kind = ColumnForm::Kind::time, .epoch = 18'320};
  const ForecastResult of_arrays = forecast(trained, make_series(time, values, 1, days), columns, options);
  CHECK(of_arrays.forecast.mean == expected.mean);
  CHECK(of_arrays.forecast.samples == expected.samples);
  CHECK(forecast(trained, series, columns).forecast.mean.size() == 2);  // the horizon of the training
}

TEST_CASE("forecast: tables of figures and of paths") {
  const SeriesFile file(hours(20));
  const TrainedModel trained = walk_weights(file);
  const ForecastColumns columns = forecast_columns(trained, {.values = {"w"}});
  const ForecastResult r =
      forecast(trained, read_series(file.path, columns), columns, {.quantiles = {0.25}, .samples = 2});
  const auto out = file.directory / "out.csv", paths = file.directory / "paths.csv";
  write_forecast(r, out, file.path, 3)->commit();
  write_paths(r, paths, file.path, 3)->commit();
  std::string expected;
  for (const std::string& line : r.comments()) expected += "# " + line + "\n";
  expected += "date,mean_w,std_w,q0.25_w\n";
  const auto rounded = [&](double value, std::size_t h) { return round_to_std(value, r.forecast.std[h], 3); };
  for (std::size_t h = 0; h < 2; ++h)
    expected += fmt::format("{},{},{},{}\n", r.time(h), rounded(r.forecast.mean[h], h), rounded(r.forecast.std[h], h),
                            rounded(r.forecast.quantiles[h], h));
  CHECK(file_text(out) == expected);
  CHECK(file_text(paths).find("# samples: 2 paths\ndate,sample,w\n") != std::string::npos);
  CHECK(file_text(paths).find(fmt::format("\n{},2,{}\n", r.time(1), rounded(r.forecast.samples[3], 1))) !=
        std::string::npos);
}

TEST_CASE("forecast: scores of the values to come, as the forecast's own distribution gives them") {
  const SeriesFile file(hours(20));
  const TrainedModel trained = walk_weights(file);
  const ForecastColumns columns = forecast_columns(trained);
  const TimeSeries series = read_series(file.path, columns);
  const std::vector<double> truth{370, kNaN, 380, 345};
  const ForecastResult r = forecast(trained, series, columns, {.horizon = 4, .samples = 200, .truth = truth});
  const SeriesForecast& f = r.forecast;
  REQUIRE(r.scores.size() == 1);
  CHECK(r.scores[0].rows == 3);
  const double errors = std::abs(f.mean[0] - 370) + std::abs(f.mean[2] - 380) + std::abs(f.mean[3] - 345);
  CHECK(r.scores[0].mae == doctest::Approx(errors / 3));
  const std::vector<double> mean{f.mean[0]}, std{f.std[0]};
  CHECK(f.crps[0] == doctest::Approx(crps(GaussianMixture{mean, std}, 370.0)).epsilon(1e-6));
  CHECK(f.central_mass[0] == doctest::Approx(central_mass(GaussianMixture{mean, std}, 370.0)).epsilon(1e-6));
  CHECK(std::isnan(f.crps[1]));
  const std::vector<double> paths(f.samples.begin() + 3 * 200, f.samples.end());
  double distance = 0, spread = 0;
  for (const double a : paths) {
    distance += std::abs(a - 345) / 200;
    for (const double b : paths) spread += std::abs(a - b) / (200.0 * 200);
  }
  CHECK(f.crps[3] == doctest::Approx(distance - spread / 2).epsilon(1e-9));
  const auto below = std::ranges::count_if(paths, [](double y) { return y < 345; });
  CHECK(f.central_mass[3] == doctest::Approx(std::abs(static_cast<double>(below) / 100 - 1)));
  CHECK(error_of([&] { forecast(trained, series, columns, {.truth = truth}); }) ==
        "[forecast] 4 values of truth found, expected 2, 1 for each of 2 steps");
}

TEST_CASE("forecast: warnings name their kind") {
  const SeriesFile file(hours(20));
  const TrainedModel trained = walk_weights(file);
  const std::vector<double> time{0, 1, 2, 3}, values{4, 4, 4, kNaN};
  const ForecastResult r = forecast(trained, make_series(time, values, 1), {"t", {"v"}});
  REQUIRE(r.warnings.size() == 1);
  CHECK(r.warnings[0].about == "constant 0");
  CHECK(r.warnings[0].text == "column v is 4 in all rows to forecast from");
}

TEST_CASE("forecast: stops on request, and works afterwards") {
  const SeriesFile file(hours(20));
  const TrainedModel trained = walk_weights(file);
  const ForecastColumns columns = forecast_columns(trained);
  const TimeSeries series = read_series(file.path, columns);
  std::int64_t polls = 0;
  const auto told = [&](std::int64_t, std::int64_t all) {
    CHECK(all == 9 * 200);
    ++polls;
  };
  const ForecastResult whole = forecast(trained, series, columns, {.horizon = 9, .progress = told});
  REQUIRE(polls == 5);
  for (std::int64_t poll = 0; poll <= polls; ++poll) {
    std::stop_source source;
    std::int64_t calls = 0;
    if (poll == 0) source.request_stop();
    const ForecastOptions options{.horizon = 9, .stop = source.get_token(), .progress = [&](auto, auto) {
                                    if (++calls == poll) source.request_stop();
                                  }};
    CHECK_THROWS_AS(forecast(trained, series, columns, options), Interrupted);
    CHECK(calls == poll);
  }
  CHECK(forecast(trained, series, columns, {.horizon = 9}).forecast.mean == whole.forecast.mean);
}

TEST_CASE("forecast: errors") {
  const SeriesFile file(hours(20));
  const TrainedModel trained = walk_weights(file);
  TrainedModel other = walk_weights(file);
  other.checkpoint.run.protocol = load_protocol("quick/gp1d");
  const std::vector<double> time{0, 1, 2}, values{1, 2, 3}, odd{0, 1, kInfinity};
  const TimeSeries series = make_series(time, values, 1);
  CHECK(error_of([&] { forecast_columns(other); }) ==
        "[forecast] walk trained under quick/gp1d found, expected weights that were trained to forecast");
  CHECK(error_of([&] { make_series(time, values, 2); }) ==
        "[forecast] 3 times and 3 values found, expected 2 values for each time");
  CHECK(error_of([&] { make_series(odd, values, 1); }) ==
        "[forecast] the time of row 2 is inf, expected a finite number");
  CHECK(error_of([&] { make_series(time, odd, 1); }) ==
        "[forecast] a value of row 2 is inf, expected a finite number, or NaN if it is missing");
  CHECK(error_of([&] {
          forecast(trained, series, {"t", {"u", "v"}});
        }) == "[forecast] 1 values and 2 names of them found, expected 1");
  CHECK(error_of([&] {
          forecast(trained, series, {"t", {"v"}}, {.quantiles = {0}});
        }) == "[forecast] the quantile 0 found, expected a number above 0 and below 1");
  CHECK(error_of([&] {
          forecast(trained, series, {"t", {"v"}}, {.horizon = -1});
        }) == "[forecast] a horizon of -1 and 0 samples found, expected 0 to 4096 and at least 0");
}
