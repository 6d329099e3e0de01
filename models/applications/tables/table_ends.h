#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "npzoo/datasets/tables/cell_parser.h"
#include "npzoo/models/applications/forecasts/series_ends.h"
#include "npzoo/models/applications/tables/baselines.h"
#include "npzoo/models/applications/tables/place_samples.h"
#include "npzoo/models/applications/tables/table_series.h"

namespace npzoo {

struct TableEndOptions {
  ColumnForm form{};                 // of the input: dates have periods of the calendar
  std::vector<std::string> periods;  // steps ("12"), or times ("1y", "7d", "24h") for dates; empty: found
  std::vector<double> quantiles;     // as those of the answer
  std::uint64_t seed = 0;            // of paths
};

/// The forecast behind the end of a series of a table.
struct TableEnd {
  std::size_t column = 0;                 // of the value
  std::int64_t group = 0;                 // its number
  std::vector<std::int64_t> rows, steps;  // places of the question behind the end, and their steps; 1: the first
  bool floor = false;                     // values are never negative and often 0: they stay at 0 or above
  EndForecast forecast;
  PlaceSamples streams;
  std::vector<double> added{};  // to the forecast at each row, as what covariates explain; empty: nothing

  /// Returns what a method forecasts for row `i`.
  double mean(const GaussianPath& path, std::size_t i) const;
  /// Draws paths (count, rows). More paths begin with the same ones, and a longer horizon with the same values.
  std::vector<double> paths(std::int64_t count) const;
};

/// Replaces the predictions behind the last known value of each series by those of `forecast_ends`, and returns these
/// forecasts. A series qualifies if it has one input, at least eight known values and equal steps: by the calendar, of
/// business days, or of a number, with missing rows. Samples are paths. Values that are never negative and often 0
/// stay at 0 or above. Throws Error for a given period with an unknown unit or below two steps.
std::vector<TableEnd> forecast_table_ends(const SeriesPredictor& predictor, const TableQuestion& question,
                                          const TableEndOptions& options, std::vector<PredictedColumn>& columns);

/// Scores exponential smoothing, Theta, drift and the last season on the rows behind the ends with a known truth.
std::vector<BaselineScores> score_end_methods(const TableQuestion& question, std::span<const TableEnd> ends);

/// The scores of a method on hidden parts of series.
struct EndScore {
  std::string method;
  double mase = 0, crps = 0;  // in errors of the last season on the part that was shown
  double coverage_95 = 0;     // share of hidden values within the central interval of 95 %
  std::int64_t values = 0;
};

/// Hides the last season of every series that qualifies, or six steps, and forecasts it by the combination, which comes
/// first, and by every method that forecasts all of these series. Empty if no series is long enough. Throws Error as
/// forecast_table_ends does.
std::vector<EndScore> check_table_ends(const SeriesPredictor& predictor, const TableQuestion& question,
                                       const TableEndOptions& options);

}  // namespace npzoo
