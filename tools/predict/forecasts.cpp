#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>

#include "npzoo/engine/words.h"
#include "npzoo/models/applications/forecasts/forecast.h"
#include "tools/cli/interrupt.h"
#include "tools/cli/json_value.h"
#include "tools/cli/messages.h"
#include "tools/cli/outputs.h"
#include "tools/cli/progress.h"
#include "tools/predict/application.h"
#include "tools/predict/picture.h"
#include "tools/reports/prediction_report.h"

namespace npzoo::tools {

namespace {

void check_forecast_flags(const PredictOptions& c, const std::string& model) {
  const std::pair<const char*, bool> others[] = {
      {"--context", c.strict},       {"--targets", !c.targets.empty()}, {"--group", !c.columns.group.empty()},
      {"--truth", !c.truth.empty()}, {"--no-standardise", c.as_is},     {"--neighbours", c.neighbours != 0}};
  for (const auto& [flag, given] : others)
    check(!given, "[predict] {} found, but {} was trained to forecast, expected TABLE and --horizon", flag, model);
}

/// Draws the rows of the context, the band, and the first paths.
void draw(const ForecastResult& r, PredictionPicture& picture) {
  constexpr std::size_t kMostPaths = 20;
  const std::size_t channels = r.columns.values.size(), count = static_cast<std::size_t>(r.samples);
  const SeriesForecast& f = r.forecast;
  for (std::size_t c = 0; c < channels; ++c) {
    for (auto place = static_cast<std::size_t>(f.first_context); place < r.series.time.size(); ++place)
      if (r.series.known[place]) picture.add_history(c, r.series.time[place], r.series.y[place * channels + c]);
    for (std::size_t h = 0; h < f.time.size(); ++h)
      picture.add(c, {&f.time[h], 1}, f.mean[h * channels + c], f.std[h * channels + c]);
    for (std::size_t k = 0; k < std::min(count, kMostPaths); ++k) {
      std::vector<double> path;
      for (std::size_t h = 0; h < f.time.size(); ++h) path.push_back(f.samples[(h * channels + c) * count + k]);
      picture.add_sample(c, std::move(path));
    }
  }
  picture.draw();
}

JsonValue to_json(const ForecastResult& r, const PredictOptions& c, double seconds) {
  JsonValue json = JsonValue::object({{"model", r.weights.model},
                                      {"protocol", r.weights.protocol},
                                      {"how", r.forecast.how},
                                      {"rows", std::ssize(r.forecast.time)},
                                      {"context_rows", r.forecast.context_points},
                                      {"first", r.time(0)},
                                      {"last", r.time(r.forecast.time.size() - 1)},
                                      {"seconds", seconds},
                                      {"warnings", tools::to_json(r.warnings)}});
  json.set("facts", JsonValue::array(r.comments()));
  if (!c.out.empty()) json.set("out", c.out.string());
  if (!c.plot.empty()) json.set("plot", c.plot.string());
  if (c.samples > 0) json.set("samples", c.samples);
  if (!c.samples_out.empty()) json.set("samples_out", c.samples_out.string());
  return json;
}

}  // namespace

int predict_forecast(const PredictOptions& c, const TrainedModel& trained) {
  const auto began = std::chrono::steady_clock::now();
  const std::string& model = trained.checkpoint.run.spec.name;
  check_forecast_flags(c, model);
  check_no_cell_flags(c);
  const ForecastColumns columns = forecast_columns(trained, c.columns);
  check_drawn_names(c.plot, columns.values);
  check_drawn_names(c.plot, std::span(&columns.time, 1));
  const std::int64_t horizon = c.steps_ahead(kMostPlaces);
  if (!c.plot.empty()) plot::format_of(c.plot);
  TimeSeries series = read_series(c.table, columns);
  for (const auto& path : {c.out, c.samples_out, c.plot})
    if (!path.empty()) check_can_be_written(path);

  const InterruptGuard interrupt;
  std::optional<Progress> steps;
  const auto show = [&](std::int64_t done, std::int64_t all) {
    if (!steps) steps.emplace("predict", all, Progress::Options{.unit = "steps", .passing = true});
    steps->update(static_cast<double>(done));
  };
  const ForecastResult result = forecast(trained, std::move(series), columns,
                                         {.horizon = horizon,
                                          .quantiles = c.quantiles,
                                          .samples = c.samples,
                                          .stop = interrupt.token(),
                                          .progress = show});
  std::unique_ptr<TableWriter> out, samples;
  std::optional<PredictionPicture> picture;
  if (!c.out.empty()) out = write_forecast(result, c.out, c.table, c.digits, c.header);
  if (!c.samples_out.empty()) samples = write_paths(result, c.samples_out, c.table, c.digits, c.header);
  if (!c.plot.empty()) {
    const std::vector<PictureAxis> axis{{columns.time, result.series.time_form}};
    picture.emplace(c.plot, model, axis, columns.values);
    draw(result, *picture);
  }
  if (out) out->commit();
  if (samples) samples->commit();
  if (picture) picture->commit();
  if (steps) steps->finish();
  show_facts(c,
             fmt::format("forecast: {} of {} by {}", counted(std::ssize(result.forecast.time), "step"),
                         fmt::join(columns.values, ", "), model),
             result.comments());
  for (const Warning& warning : result.warnings) fmt::print(stderr, "npzoo: warning: {}\n", one_line(warning.text));
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - began;
  if (c.common.json) print_json(to_json(result, c, seconds.count()));
  return 0;
}

}  // namespace npzoo::tools
