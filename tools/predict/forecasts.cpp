#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <optional>

#include "npzoo/datasets/series/series_tasks.h"
#include "npzoo/datasets/tables/prediction_rows.h"
#include "npzoo/datasets/tables/table_reader.h"
#include "npzoo/datasets/tables/table_writer.h"
#include "npzoo/engine/config.h"
#include "npzoo/engine/io/file.h"
#include "npzoo/engine/parallel.h"
#include "npzoo/models/applications/tables/forecaster.h"
#include "tools/cli/interrupt.h"
#include "tools/cli/json_value.h"
#include "tools/cli/messages.h"
#include "tools/cli/outputs.h"
#include "tools/cli/progress.h"
#include "tools/predict/options.h"
#include "tools/predict/picture.h"

namespace npzoo {

namespace {

void check_forecast_flags(const PredictOptions& c, const std::string& model) {
  const std::pair<const char*, bool> others[] = {
      {"--context", c.strict},       {"--targets", !c.targets.empty()}, {"--group", !c.columns.group.empty()},
      {"--truth", !c.truth.empty()}, {"--no-standardise", c.as_is},     {"--neighbours", c.neighbours != 0}};
  for (const auto& [flag, given] : others)
    check(!given, "[predict] {} found, but {} was trained to forecast, expected TABLE and --horizon", flag, model);
}

/// Steps: those of training where nothing is said.
std::int64_t horizon_of(const PredictOptions& c, const WindowRules& rules) {
  const double wanted = c.horizon.value_or(static_cast<double>(rules.horizon));
  check(wanted == std::floor(wanted) && wanted >= 1 && wanted <= static_cast<double>(kMostPlaces),
        "[predict] --horizon {} found, expected a whole number of steps from 1 to {}", wanted, kMostPlaces);
  return static_cast<std::int64_t>(wanted);
}

/// The columns of time and of values: those of training, unless others are named.
struct ForecastColumns {
  std::string time;
  std::vector<std::string> values;
};

ForecastColumns columns_of(const PredictOptions& c, const SeriesTasks& config) {
  check(c.columns.inputs.size() <= 1, "[predict] {} inputs found, {}, expected the column of time alone",
        c.columns.inputs.size(), fmt::join(c.columns.inputs, ", "));
  check(c.columns.values.empty() || std::ssize(c.columns.values) == config.dim_y(),
        "[predict] {} columns of values found, {}, expected {} in the order of training, {}", c.columns.values.size(),
        fmt::join(c.columns.values, ", "), config.dim_y(), fmt::join(config.values(), ", "));
  const std::string time = config.time_column();
  return {c.columns.inputs.empty() ? (time.empty() ? "date" : time) : c.columns.inputs[0],
          c.columns.values.empty() ? config.values() : c.columns.values};
}

/// What `predict` was asked, and what came of it.
struct ForecastAnswer {
  const PredictOptions& options;
  const TrainingRun& run;
  std::int64_t steps;  // of training
  ForecastColumns columns;
  TimeSeries series;
  std::int64_t context_steps = 0;
  SeriesForecast forecast{};

  std::size_t channels() const { return columns.values.size(); }
  std::string time(std::size_t h) const { return series.time_form.text(forecast.time[h]); }
  /// A value of channel c at place h, with as many decimals as its standard deviation there.
  double rounded(double value, std::size_t h, std::size_t c) const {
    return round_to_std(value, forecast.std[h * channels() + c], options.digits);
  }
  std::vector<std::string> comments() const {
    return {
        fmt::format("npzoo {} predict: {} trained under {}, seed {}, {} steps", kVersion, run.spec.name,
                    run.protocol.name, run.seed, steps),
        fmt::format("forecast: {} by {}, {}", fmt::join(columns.values, ", "), columns.time, forecast.how),
        fmt::format("context: {} known points of the last {} steps, from {} on", forecast.context_points, context_steps,
                    series.time_form.text(series.time[static_cast<std::size_t>(forecast.first_context)]))};
  }
};

/// The table of predictions: time, and of each value a column for every figure.
void write_forecast(const ForecastAnswer& a, std::optional<TableWriter>& out) {
  std::vector<std::string> prefixes{"mean_", "std_"};
  for (const double p : a.options.quantiles) prefixes.push_back(fmt::format("q{}_", p));
  const std::vector<std::string> time{a.columns.time},
      header = prediction_header({}, time, prefixes, a.columns.values, a.options.table);
  out.emplace(a.options.out, header, a.comments());
  const std::size_t channels = a.channels(), quantiles = a.options.quantiles.size();
  for (std::size_t h = 0; h < a.forecast.time.size(); ++h) {
    std::vector<double> numbers;
    for (const std::vector<double>* figures : {&a.forecast.mean, &a.forecast.std})
      for (std::size_t c = 0; c < channels; ++c) numbers.push_back(a.rounded((*figures)[h * channels + c], h, c));
    for (std::size_t q = 0; q < quantiles; ++q)
      for (std::size_t c = 0; c < channels; ++c)
        numbers.push_back(a.rounded(a.forecast.quantiles[(h * channels + c) * quantiles + q], h, c));
    out->write(a.time(h), numbers);
  }
}

void write_paths(const ForecastAnswer& a, std::optional<TableWriter>& out) {
  const auto count = static_cast<std::size_t>(a.options.samples), channels = a.channels();
  std::vector<std::string> comments = a.comments();
  comments.push_back(fmt::format("samples: {} paths", count));
  const std::vector<std::string> time{a.columns.time};
  out.emplace(a.options.samples_out, sample_header(time, a.columns.values, a.options.table, a.options.table), comments);
  for (std::size_t h = 0; h < a.forecast.time.size(); ++h)
    for (std::size_t k = 0; k < count; ++k) {
      std::vector<double> numbers{static_cast<double>(k + 1)};
      for (std::size_t c = 0; c < channels; ++c)
        numbers.push_back(a.rounded(a.forecast.samples[(h * channels + c) * count + k], h, c));
      out->write(a.time(h), numbers);
    }
  out->flush();
}

/// What came before, the band, and the first paths.
void draw_forecast(const ForecastAnswer& a, PredictionPicture& picture) {
  constexpr std::size_t kMostPaths = 20;
  const std::size_t channels = a.channels(), count = static_cast<std::size_t>(a.options.samples);
  for (std::size_t c = 0; c < channels; ++c) {
    for (std::int64_t place = a.forecast.first_context; place < a.series.size(); ++place)
      if (a.series.known[static_cast<std::size_t>(place)])
        picture.add_history(c, a.series.time[static_cast<std::size_t>(place)],
                            a.series.y[static_cast<std::size_t>(place) * channels + c]);
    for (std::size_t h = 0; h < a.forecast.time.size(); ++h)
      picture.add(c, {&a.forecast.time[h], 1}, a.forecast.mean[h * channels + c], a.forecast.std[h * channels + c]);
    for (std::size_t k = 0; k < std::min(count, kMostPaths); ++k) {
      std::vector<double> path;
      for (std::size_t h = 0; h < a.forecast.time.size(); ++h)
        path.push_back(a.forecast.samples[(h * channels + c) * count + k]);
      picture.add_sample(c, std::move(path));
    }
  }
  picture.draw();
}

/// Matters in which the series is unlike that of training.
std::vector<std::string> warnings_of(const ForecastAnswer& a, const SeriesTasks& config) {
  constexpr double kOtherStep = 0.02, kOtherMonth = 0.12;  // relative; months have 28 to 31 days
  std::vector<std::string> all;
  const TimeSeries& series = a.series;
  if (2 * a.forecast.context_points < config.rules().context)
    all.push_back(fmt::format("{} known rows to forecast from, but the model was trained on windows of {}",
                              a.forecast.context_points, config.rules().context));
  if (const auto step = config.time_step();
      step && std::abs(series.step - *step) > (series.calendar ? kOtherMonth : kOtherStep) * *step)
    all.push_back(fmt::format("rows are {:.4g} apart, but {:.4g} in training{}", series.step, *step,
                              series.time_form.kind == ColumnForm::Kind::time ? ", in days" : ""));
  for (std::size_t c = 0; c < a.channels(); ++c) {
    double low = std::numeric_limits<double>::infinity(), high = -low;
    for (std::int64_t place = a.forecast.first_context; place < series.size(); ++place)
      if (series.known[static_cast<std::size_t>(place)]) {
        const double y = series.y[static_cast<std::size_t>(place) * a.channels() + c];
        low = std::min(low, y);
        high = std::max(high, y);
      }
    if (low == high)
      all.push_back(fmt::format("column {} is {} in all rows to forecast from", a.columns.values[c], low));
  }
  if (series.partial > 0)
    all.push_back(fmt::format("{} rows have some of {} and not all: the forecast does not use them", series.partial,
                              fmt::join(a.columns.values, ", ")));
  return all;
}

JsonValue to_json(const ForecastAnswer& a, const std::vector<std::string>& warnings, double seconds) {
  JsonValue json = JsonValue::object({{"model", a.run.spec.name},
                                      {"protocol", a.run.protocol.name},
                                      {"how", a.forecast.how},
                                      {"rows", std::ssize(a.forecast.time)},
                                      {"context_rows", a.forecast.context_points},
                                      {"first", a.time(0)},
                                      {"last", a.time(a.forecast.time.size() - 1)},
                                      {"seconds", seconds}});
  JsonValue list = JsonValue::array();
  for (const std::string& warning : warnings) list.push_back(warning);
  json.set("warnings", list);
  const PredictOptions& c = a.options;
  if (!c.out.empty()) json.set("out", c.out.string());
  if (!c.plot.empty()) json.set("plot", c.plot.string());
  if (c.samples > 0) json.update({{"samples", c.samples}, {"samples_out", c.samples_out.string()}});
  return json;
}

}  // namespace

int predict_forecast(const PredictOptions& c, const TrainedModel& trained) {
  const auto began = std::chrono::steady_clock::now();
  const auto& [checkpoint, model] = trained;
  const auto& config = *checkpoint.run.protocol.data->as_series();
  check_forecast_flags(c, checkpoint.run.spec.name);
  ForecastColumns columns = columns_of(c, config);
  check_drawn_names(c.plot, columns.values);
  check_drawn_names(c.plot, std::span(&columns.time, 1));
  const std::int64_t horizon = horizon_of(c, config.rules());
  if (!c.plot.empty()) plot::format_of(c.plot);
  const SeriesScale scale = config.scale();
  TimeSeries series =
      order_by_time(read_measurements(c.table, columns.time, columns.values), config.dim_y(), c.table.string());
  for (const auto& path : {c.out, c.samples_out, c.plot})
    if (!path.empty()) check_can_be_written(path);
  ForecastAnswer answer{
      c, checkpoint.run, checkpoint.step, std::move(columns), std::move(series), config.rules().context};
  const InterruptGuard interrupt;
  std::optional<Progress> steps;
  const auto show = [&](std::int64_t done, std::int64_t all) {
    if (interrupt.requested()) throw Cancelled("[forecast] given up");
    if (!steps) steps.emplace("predict", all, Progress::Options{.unit = "steps", .passing = true});
    steps->update(done);
  };
  answer.forecast = Forecaster(*model, config.rules(), scale)
                        .forecast(answer.series, {.horizon = horizon,
                                                  .quantiles = c.quantiles,
                                                  .samples = c.samples,
                                                  .seed = checkpoint.run.seed,
                                                  .progress = show});
  std::optional<TableWriter> out, samples;
  std::optional<PredictionPicture> picture;
  if (!c.out.empty()) write_forecast(answer, out);
  if (c.samples > 0) write_paths(answer, samples);
  if (!c.plot.empty()) {
    const std::vector<PictureAxis> axis{{answer.columns.time, answer.series.time_form}};
    picture.emplace(c.plot, checkpoint.run.spec.name, axis, answer.columns.values);
    draw_forecast(answer, *picture);
  }
  if (out) out->commit();
  if (samples) samples->commit();
  if (picture) picture->commit();
  if (steps) steps->finish();
  const std::vector<std::string> warnings = warnings_of(answer, config);
  for (const std::string& warning : warnings) fmt::print(stderr, "npzoo: warning: {}\n", one_line(warning));
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - began;
  if (c.common.json) print_json(to_json(answer, warnings, seconds.count()));
  return 0;
}

}  // namespace npzoo
