#include "npzoo/datasets/kinds/forecast/own_table.h"

#include <utility>

#include "npzoo/datasets/kinds/forecast/config.h"
#include "npzoo/datasets/kinds/table_tasks/config.h"
#include "npzoo/datasets/own_protocol.h"
#include "npzoo/engine/error.h"
#include "npzoo/engine/io/file.h"

namespace npzoo {

namespace {

constexpr double kTrainingShare = 0.7, kValidationShare = 0.1;

/// A minute of two threads.
constexpr OwnRecipe kForecastRecipe{.description = "Forecasts of a table",
                                    .source = "a table of the user's own",
                                    .steps = 500,
                                    .warmup_steps = 50,
                                    .batch_size = 16,
                                    .validation_every = 20,
                                    .validation_batches = 8,
                                    .evaluation_batches = 100'000,
                                    .evaluation_batch_size = 32,
                                    .trial = "forecast"};

struct TableFacts {
  SeriesScale scale;
  double step = 0;
};

/// Reads the table before a training begins. Throws Error if it is too short.
TableFacts look_at_table(const OwnForecast& own, const WindowRules& rules) {
  const auto dim_y = std::ssize(own.values);
  ForecastSeries series{.series =
                            order_by_time(read_measurements(own.path, own.time, own.values), dim_y, own.path.string())};
  series.parts = parts_of(series.series, SplitByShares{kTrainingShare, kValidationShare}, own.path.string());
  for (const Split split : {Split::training, Split::validation, Split::evaluation})
    check(!window_starts(series, rules, split).empty(),
          "[forecast] {}: {} points found, expected more for windows of {} + {} that are known in each part",
          own.path.string(), series.series.size(), rules.context, rules.horizon);
  return {scale_of(series.series, series.part(Split::training)), series.series.step};
}

}  // namespace

std::string forecast_protocol(const OwnForecast& own, std::string_view base, const std::string& name,
                              bool short_recipe) {
  check_read_again(own.path, "forecast");
  const auto [scale, step] =
      look_at_table(own, {.context = own.context, .horizon = own.horizon, .context_before = true});
  toml::table data{{"kind", "forecast"},
                   {"set", "table"},
                   {"path", absolute_path(own.path).string()},
                   {"checksum", table_checksum(own.path)},
                   {"time", own.time},
                   {"values", toml_array(own.values)},
                   {"mean", toml_array(scale.mean)},
                   {"std", toml_array(scale.std)},
                   {"step", step},
                   {"split", "shares"},
                   {"training", kTrainingShare},
                   {"validation", kValidationShare},
                   {"test", 1 - kTrainingShare - kValidationShare},
                   {"context", own.context},
                   {"horizon", own.horizon},
                   {"stride", 1},
                   {"context_before", true},
                   {"grid", "time"},
                   {"calendar", "none"}};
  return own_protocol(base, "[forecast]", kForecastRecipe, short_recipe, name, std::move(data));
}

}  // namespace npzoo
