#include "npzoo/datasets/kinds/forecast/own_table.h"

#include "npzoo/datasets/series/windows.h"
#include "npzoo/datasets/tables/own_file.h"
#include "npzoo/engine/error.h"
#include "npzoo/engine/io/file.h"
#include "npzoo/engine/io/toml.h"

namespace npzoo {

namespace {

struct TableFacts {
  SeriesScale scale;
  double step = 0;
};

/// Reads the table before a training begins. Throws Error if it is too short.
TableFacts look_at_table(const OwnSeries& own, const SplitByShares& shares) {
  const WindowRules rules{.context = own.context, .horizon = own.horizon, .context_before = true};
  const auto dim_y = std::ssize(own.values);
  ForecastSeries series{.series =
                            order_by_time(read_measurements(own.path, own.time, own.values), dim_y, own.path.string())};
  series.parts = parts_of(series.series, shares, own.path.string());
  for (const Split split : {Split::training, Split::validation, Split::evaluation})
    check(!window_starts(series, rules, split).empty(),
          "[forecast] {}: {} points found, expected a window of {} + {} known points in each part", own.path.string(),
          series.series.size(), rules.context, rules.horizon);
  return {scale_of(series.series, series.part(Split::training)), series.series.step};
}

}  // namespace

OwnTasks on_own_table(const OwnSeries& own, const SplitByShares& shares) {
  check_read_again(own.path, "forecast");
  const auto [scale, step] = look_at_table(own, shares);
  return {.data = toml_text(toml::table{{"path", absolute_path(own.path).string()},
                                        {"checksum", table_checksum(own.path)},
                                        {"time", own.time},
                                        {"values", toml_array(own.values)},
                                        {"mean", toml_array(scale.mean)},
                                        {"std", toml_array(scale.std)},
                                        {"step", step},
                                        {"test", 1 - shares.training - shares.validation},
                                        {"context", own.context},
                                        {"horizon", own.horizon}})};
}

}  // namespace npzoo
