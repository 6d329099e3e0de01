#pragma once

#include <cstdint>
#include <stop_token>
#include <string>
#include <vector>

#include "npzoo/models/applications/trained_model.h"

namespace npzoo {

/// Ways to forecast a user's own series.
enum class ForecastWay : std::uint8_t { trained, untrained, seasonal_naive };

/// The scores of one way. The unit is the mean absolute error of the seasonal naive forecast on the training part.
struct ForecastWayScore {
  ForecastWay way = ForecastWay::trained;
  double mase = 0, crps = 0;          // means over windows and columns
  std::vector<double> window_crps{};  // of each window, a mean over columns
};

struct ForecastComparison {
  std::int64_t windows = 0;
  std::int64_t separate = 0;               // windows that do not overlap
  std::vector<ForecastWayScore> scores{};  // one for each way, in their order; empty if there are no windows

  /// Returns the way to recommend: `untrained`, unless the CRPS of another is lower by two standard errors or more. The
  /// errors are those of the paired differences over as many windows as do not overlap. Throws Error without windows.
  ForecastWay best() const;
};

struct ComparisonOptions {
  std::int64_t windows = 24;  // at most, evenly over the part or parts that the training has not seen
  std::stop_token stop{};     // after a request the call throws Interrupted
};

/// Forecasts windows that the training has not seen from the rows before each: by the trained weights, without training
/// as `fill` does by default, and by the last season again. The windows are those of the test part. If the protocol
/// keeps the last weights, the validation part chose nothing, and its windows count as well. A window counts if the
/// value before its horizon is known. Throws Error as `fill` and Forecaster do, and if the weights were not trained to
/// forecast.
ForecastComparison compare_forecasts(const TrainedModel& trained, const ComparisonOptions& options = {});

}  // namespace npzoo
