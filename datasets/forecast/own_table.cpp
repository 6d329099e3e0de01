#include "datasets/forecast/own_table.h"

#include <sstream>

#include "datasets/forecast/config.h"
#include "datasets/table/config.h"
#include "engine/error.h"
#include "engine/io/toml.h"

namespace npzoo {

namespace {

constexpr double kTrainingShare = 0.7, kValidationShare = 0.1;

/// A minute of two threads; --steps, --lr and --set change it.
constexpr const char* kForecastRecipe = R"(
[training]
steps = 500
batch_size = 16
clip_norm = 1.0
keep = "best"
optimiser = { name = "adam", lr = 5e-4, beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8, weight_decay = 0.0 }
schedule = { name = "cosine", warmup_steps = 50 }

[validation]
every = 20
batches = 8
seed = 0

[evaluation]
batches = 100_000
batch_size = 32
seed = 0
trial = "forecast"
metric = "log-likelihood"
)";

template <class T>
toml::array toml_array(const std::vector<T>& values) {
  toml::array array;
  for (const T& value : values) array.push_back(value);
  return array;
}

/// Looks at the table: what it lacks is told before a training begins.
SeriesScale scale_of_table(const OwnForecast& own, const WindowRules& rules) {
  const auto dim_y = std::ssize(own.values);
  ForecastSeries series{.series =
                            order_by_time(read_measurements(own.path, own.time, own.values), dim_y, own.path.string())};
  series.parts = parts_of(series.series, SplitByShares{kTrainingShare, kValidationShare}, own.path.string());
  for (const Split split : {Split::training, Split::validation, Split::evaluation})
    check(!window_starts(series, rules, split).empty(),
          "[forecast] {}: {} points found, expected more for windows of {} + {} that are known in each part",
          own.path.string(), series.series.size(), rules.context, rules.horizon);
  return scale_of(series.series, series.part(Split::training));
}

}  // namespace

std::string forecast_protocol(const OwnForecast& own, std::string_view base, const std::string& name,
                              bool short_recipe) {
  check(own.path != "-", "[forecast] - found, expected a file: a training that goes on reads it again");
  const SeriesScale scale =
      scale_of_table(own, {.context = own.context, .horizon = own.horizon, .context_before = true});
  toml::table root = parse_toml(base, "[forecast]");
  const toml::table recipe = parse_toml(kForecastRecipe, "[forecast]");
  for (const char* key : {"training", "validation", "evaluation"})
    if (short_recipe || std::string_view(key) == "evaluation") root.insert_or_assign(key, *recipe.get(key));
  root.insert_or_assign("name", name);
  root.insert_or_assign("description", "Forecasts of a table");
  root.insert_or_assign("source", "a table of the user's own");
  root.insert_or_assign("data", toml::table{{"kind", "forecast"},
                                            {"set", "table"},
                                            {"path", std::filesystem::absolute(own.path).string()},
                                            {"checksum", table_checksum(own.path)},
                                            {"time", own.time},
                                            {"values", toml_array(own.values)},
                                            {"mean", toml_array(scale.mean)},
                                            {"std", toml_array(scale.std)},
                                            {"split", "shares"},
                                            {"training", kTrainingShare},
                                            {"validation", kValidationShare},
                                            {"test", 1 - kTrainingShare - kValidationShare},
                                            {"context", own.context},
                                            {"horizon", own.horizon},
                                            {"stride", 1},
                                            {"context_before", true},
                                            {"grid", "time"},
                                            {"calendar", "none"}});
  root["evaluation"].as_table()->insert_or_assign("tests", toml::array{toml::table{{"name", "held out"}}});
  std::ostringstream text;
  text << toml::toml_formatter{root, toml::format_flags::none} << '\n';
  return text.str();
}

}  // namespace npzoo
