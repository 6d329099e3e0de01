#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "npzoo/datasets/tables/cell_parser.h"
#include "npzoo/models/applications/forecasts/series_ends.h"
#include "npzoo/models/applications/tables/table_series.h"

namespace npzoo {

struct TableEndOptions {
  ColumnForm form{};                 // of the input: dates have periods of the calendar
  std::vector<std::string> periods;  // steps ("12"), or times ("1y", "7d", "24h") for dates; empty: found
  std::vector<double> quantiles;     // as those of the answer
};

/// Replaces the predictions behind the last known value of each series by those of `forecast_ends`, and returns the
/// number of these series. A series qualifies if it has one input, at least eight known values and equal steps: by the
/// calendar, of business days, or of a number, with missing rows. Samples keep their ranks. Values that are never
/// negative and often 0 stay at 0 or above. Throws Error for a given period with an unknown unit or below two steps.
std::int64_t forecast_table_ends(const SeriesPredictor& predictor, const TableQuestion& question,
                                 const TableEndOptions& options, std::vector<PredictedColumn>& columns);

/// The scores of a method on hidden parts of series.
struct EndScore {
  std::string method;
  double mase = 0, crps = 0;  // in errors of the last season on the part that was shown
  double coverage_95 = 0;     // share of hidden values within the central interval of 95 %
  std::int64_t values = 0;
};

/// Hides the last season of every series that qualifies, or six steps, and forecasts it by every method and by the
/// combination, which comes first. Empty if no series is long enough. Throws Error as forecast_table_ends does.
std::vector<EndScore> check_table_ends(const SeriesPredictor& predictor, const TableQuestion& question,
                                       const TableEndOptions& options);

}  // namespace npzoo
