#include "npzoo/models/applications/forecasts/forecast.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "npzoo/datasets/series/series_tasks.h"
#include "npzoo/engine/boundary.h"
#include "npzoo/engine/error.h"
#include "npzoo/engine/words.h"

namespace npzoo {

namespace {

const SeriesTasks& series_tasks_of(const TrainedModel& trained) {
  const TrainingRun& run = trained.checkpoint.run;
  const SeriesTasks* config = run.protocol.data->as_series();
  check(config != nullptr, "[forecast] {} trained under {} found, expected weights that were trained to forecast",
        run.spec.name, run.protocol.name);
  return *config;
}

/// Returns the differences between the series and that of the training.
std::vector<Warning> compare_with_training(const ForecastResult& r, const SeriesTasks& config) {
  constexpr double kOtherStep = 0.02, kOtherMonth = 0.12;  // relative; months have 28 to 31 days
  std::vector<Warning> all;
  const TimeSeries& series = r.series;
  if (2 * r.forecast.context_points < config.rules().context)
    all.push_back(
        {"few context points", fmt::format("{} known rows to forecast from, but the model was trained on windows of {}",
                                           r.forecast.context_points, config.rules().context)});
  const bool months = series.calendar && std::holds_alternative<CalendarStep>(series.calendar->rule());
  if (const auto step = config.time_step();
      step && std::abs(series.step - *step) > (months ? kOtherMonth : kOtherStep) * *step)
    all.push_back({"other step", fmt::format("rows are {:.4g} apart, but {:.4g} in training{}", series.step, *step,
                                             series.time_form.kind == ColumnForm::Kind::time ? ", in days" : "")});
  const std::size_t channels = r.columns.values.size();
  for (std::size_t c = 0; c < channels; ++c) {
    double low = std::numeric_limits<double>::infinity(), high = -low;
    for (auto place = static_cast<std::size_t>(r.forecast.first_context); place < series.time.size(); ++place)
      if (series.known[place]) {
        low = std::min(low, series.y[place * channels + c]);
        high = std::max(high, series.y[place * channels + c]);
      }
    if (low == high)
      all.push_back({fmt::format("constant {}", c),
                     fmt::format("column {} is {} in all rows to forecast from", r.columns.values[c], low)});
  }
  if (series.partial > 0)
    all.push_back(
        {"partial rows", fmt::format("{} {} some of {} and not all: the forecast does not use {}",
                                     counted(series.partial, "row"), series.partial == 1 ? "has" : "have",
                                     fmt::join(r.columns.values, ", "), series.partial == 1 ? "it" : "them")});
  return all;
}

void check_options(const ForecastOptions& options) {
  check(options.horizon >= 0 && options.horizon <= kMostPlaces && options.samples >= 0,
        "[forecast] a horizon of {} and {} samples found, expected 0 to {} and at least 0", options.horizon,
        options.samples, kMostPlaces);
  for (const double p : options.quantiles)
    check(p > 0 && p < 1, "[forecast] the quantile {} found, expected a number above 0 and below 1", p);
}

/// Scores the forecast of value `c` of `channels`.
TruthScores score_value(const SeriesForecast& f, std::span<const double> truth, std::size_t c, std::size_t channels) {
  const auto value = [&](std::span<const double> figures) {
    std::vector<double> column;
    for (std::size_t i = c; i < figures.size(); i += channels) column.push_back(figures[i]);
    return column;
  };
  const PredictedColumn column{.mean = value(f.mean),
                               .std = value(f.std),
                               .quantiles = {},
                               .samples = {},
                               .crps = value(f.crps),
                               .central_mass = value(f.central_mass)};
  return score(column, value(truth));
}

}  // namespace

std::vector<std::string> ForecastResult::comments() const {
  return {weights.made_by("predict"),
          fmt::format("forecast: {} by {}, {}", fmt::join(columns.values, ", "), columns.time, forecast.how),
          fmt::format("context: {} of the last {}, from {} on", counted(forecast.context_points, "known point"),
                      counted(context_steps, "step"),
                      series.time_form.text(series.time[static_cast<std::size_t>(forecast.first_context)]))};
}

TimeSeries make_series(std::span<const double> time, std::span<const double> values, std::int64_t dim_y,
                       const ColumnForm& form) {
  return with_errors([&] {
    check(dim_y >= 1 && std::ssize(time) * dim_y == std::ssize(values),
          "[forecast] {} times and {} values found, expected {} values for each time", time.size(), values.size(),
          dim_y);
    for (std::size_t i = 0; i < time.size(); ++i)
      check(std::isfinite(time[i]), "[forecast] the time of row {} is {}, expected a finite number", i, time[i]);
    for (std::size_t i = 0; i < values.size(); ++i)
      check(!std::isinf(values[i]),
            "[forecast] a value of row {} is {}, expected a finite number, or NaN if it is missing",
            static_cast<std::int64_t>(i) / dim_y, values[i]);
    return order_by_time({form, {time.begin(), time.end()}, {values.begin(), values.end()}}, dim_y, "series");
  });
}

ForecastColumns forecast_columns(const TrainedModel& trained, const ColumnChoice& wishes) {
  return with_errors([&]() -> ForecastColumns {
    const SeriesTasks& config = series_tasks_of(trained);
    check(wishes.inputs.size() <= 1, "[predict] {} inputs found, {}, expected the column of time alone",
          wishes.inputs.size(), fmt::join(wishes.inputs, ", "));
    check(wishes.values.empty() || std::ssize(wishes.values) == config.dim_y(),
          "[predict] {} columns of values found, {}, expected {} in the order of training, {}", wishes.values.size(),
          fmt::join(wishes.values, ", "), config.dim_y(), fmt::join(config.values(), ", "));
    const std::string time = config.time_column();
    return {wishes.inputs.empty() ? (time.empty() ? "date" : time) : wishes.inputs[0],
            wishes.values.empty() ? config.values() : wishes.values};
  });
}

TimeSeries read_series(const std::filesystem::path& table, const ForecastColumns& columns) {
  return with_errors([&] {
    return order_by_time(read_measurements(table, columns.time, columns.values), std::ssize(columns.values),
                         table.string());
  });
}

ForecastResult forecast(const TrainedModel& trained, TimeSeries series, const ForecastColumns& columns,
                        const ForecastOptions& options) {
  return with_errors([&] {
    const SeriesTasks& config = series_tasks_of(trained);
    check_options(options);
    check(series.dim_y == config.dim_y() && series.dim_y == std::ssize(columns.values),
          "[forecast] {} values and {} names of them found, expected {}", series.dim_y, columns.values.size(),
          config.dim_y());
    ForecastOptions complete = options;
    complete.seed = options.seed.value_or(trained.checkpoint.run.seed);
    ForecastResult result{.columns = columns,
                          .series = std::move(series),
                          .forecast = {},
                          .weights = weights_used(trained.checkpoint),
                          .context_steps = config.rules().context,
                          .quantiles = options.quantiles,
                          .samples = options.samples};
    result.forecast = Forecaster(*trained.model, config.rules(), config.scale()).forecast(result.series, complete);
    for (std::size_t c = 0; c < columns.values.size() && !options.truth.empty(); ++c)
      result.scores.push_back(score_value(result.forecast, options.truth, c, columns.values.size()));
    result.warnings = compare_with_training(result, config);
    return result;
  });
}

std::unique_ptr<TableWriter> write_forecast(const ForecastResult& r, const std::filesystem::path& path,
                                            const std::filesystem::path& table, std::int64_t digits, bool facts) {
  return with_errors([&] {
    std::vector<std::string> prefixes{"mean_", "std_"};
    for (const double p : r.quantiles) prefixes.push_back(fmt::format("q{}_", p));
    const std::vector<std::string> time{r.columns.time};
    const std::vector<std::string> header = prediction_header({}, time, prefixes, r.columns.values, table);
    auto out = std::make_unique<TableWriter>(path, header, facts ? r.comments() : std::vector<std::string>());
    const std::size_t channels = r.columns.values.size(), quantiles = r.quantiles.size();
    const SeriesForecast& f = r.forecast;
    for (std::size_t h = 0; h < f.time.size(); ++h) {
      std::vector<double> numbers;
      const auto add = [&](double value, std::size_t c) {
        numbers.push_back(round_to_std(value, f.std[h * channels + c], digits));
      };
      for (const std::vector<double>* figures : {&f.mean, &f.std})
        for (std::size_t c = 0; c < channels; ++c) add((*figures)[h * channels + c], c);
      for (std::size_t q = 0; q < quantiles; ++q)
        for (std::size_t c = 0; c < channels; ++c) add(f.quantiles[(h * channels + c) * quantiles + q], c);
      out->write(r.time(h), numbers);
    }
    return out;
  });
}

std::unique_ptr<TableWriter> write_paths(const ForecastResult& r, const std::filesystem::path& path,
                                         const std::filesystem::path& table, std::int64_t digits, bool facts) {
  return with_errors([&] {
    const auto count = static_cast<std::size_t>(r.samples), channels = r.columns.values.size();
    std::vector<std::string> comments = r.comments();
    comments.push_back(fmt::format("samples: {}", counted(r.samples, "path")));
    if (!facts) comments.clear();
    const std::vector<std::string> time{r.columns.time};
    auto out = std::make_unique<TableWriter>(path, sample_header(time, r.columns.values, table, table), comments);
    const SeriesForecast& f = r.forecast;
    for (std::size_t h = 0; h < f.time.size(); ++h)
      for (std::size_t k = 0; k < count; ++k) {
        std::vector<double> numbers{static_cast<double>(k + 1)};
        for (std::size_t c = 0; c < channels; ++c)
          numbers.push_back(round_to_std(f.samples[(h * channels + c) * count + k], f.std[h * channels + c], digits));
        out->write(r.time(h), numbers);
      }
    out->flush();
    return out;
  });
}

}  // namespace npzoo
