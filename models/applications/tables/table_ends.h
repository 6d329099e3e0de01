#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "npzoo/models/applications/forecasts/series_ends.h"
#include "npzoo/models/applications/tables/baselines.h"
#include "npzoo/models/applications/tables/place_samples.h"
#include "npzoo/models/applications/tables/regular_series.h"
#include "npzoo/models/applications/tables/row_distribution.h"
#include "npzoo/models/applications/tables/table_series.h"

namespace npzoo {

struct TableEndOptions {
  std::vector<double> quantiles;  // as those of the answer
  std::uint64_t seed = 0;         // of paths
};

/// The forecast behind the end of a series of a table.
struct TableEnd {
  std::size_t column = 0;            // of the value
  std::int64_t group = 0;            // its number
  std::vector<std::int64_t> rows{};  // places of the question behind the end
  std::vector<double> ahead{};       // steps of each row behind the last known value, above 0
  std::vector<bool> closed{};        // rows at times at which the series never has a value
  double last = 0;                   // the last known value, transformed
  double spread = 0;                 // of the season and of neighbouring steps: the deviation of closed rows has it too
  ValueTransform transform{};        // from forecasts to values
  EndForecast forecast;              // of transformed values
  PlaceSamples streams;
  double within = 0;                   // variance of a value around the mean of its time
  std::vector<double> variance{};      // added to that of the forecast at each row; empty: none
  std::vector<double> added{};         // to the forecast at each row, as what covariates explain; empty: nothing
  std::vector<double> slope_errors{};  // (rows, S), of `added`; see GaussianProcess::slope_errors
  PlaceSamples slope_streams{0, {}, {}};

  /// Returns what a method forecasts for row `i`.
  RowDistribution distribution(const EndPath& path, std::size_t i) const;
  /// Returns the middle of what a method forecasts for row `i`.
  double median(const EndPath& path, std::size_t i) const;
  /// Draws paths (count, rows). More paths begin with the same ones, and a longer horizon with the same values.
  std::vector<double> paths(std::int64_t count) const;
};

/// Whether logarithms of the values of a series may be forecast: not if values are logarithms themselves, since the
/// exponential of a log-normal number has no finite mean.
bool takes_logarithms(const RegularSeries& series);

/// Returns the S standard normal numbers that slopes have in sample `sample`.
std::vector<double> slope_normals(const PlaceSamples& streams, std::int64_t sample, std::size_t count);

/// Replaces the predictions behind the last known value of each series by those of `forecast_ends`, and returns these
/// forecasts. Rows between steps are interpolated. Samples are paths.
std::vector<TableEnd> forecast_table_ends(const SeriesPredictor& predictor, std::span<const RegularSeries> series,
                                          const TableQuestion& question, const TableEndOptions& options,
                                          std::vector<PredictedColumn>& columns);

/// Scores exponential smoothing, Theta, drift and the last season on the rows behind the ends with a known truth.
std::vector<BaselineScores> score_end_methods(const TableQuestion& question, std::span<const TableEnd> ends);

/// The scores of a method on hidden parts of series.
struct EndScore {
  std::string method;
  double mase = 0, crps = 0;  // in errors of the last season on the part that was shown
  double coverage_95 = 0;     // share of hidden values within the central interval of 95 %
  std::int64_t values = 0;
};

/// Hides the last season of every series, or six steps, and forecasts it by the combination, which comes first, and by
/// every method that forecasts all of these series. Empty if no series is long enough.
std::vector<EndScore> check_table_ends(const SeriesPredictor& predictor, std::span<const RegularSeries> series);

}  // namespace npzoo
