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
  double mase = 0, crps = 0;  // means over windows and columns
};

struct ForecastComparison {
  std::int64_t windows = 0;
  std::vector<ForecastWayScore> scores{};  // one for each way, in their order; empty if there are no windows

  /// The way with the lowest CRPS.
  ForecastWay best() const;
};

struct ComparisonOptions {
  std::int64_t windows = 24;  // at most, evenly over the parts for validation and tests
  std::stop_token stop{};     // after a request the call throws Interrupted
};

/// Forecasts windows behind the training part from the rows before each: by the trained weights, without training as
/// `fill` does by default, and by the last season again. The validation part alone is often too short to choose. A
/// window counts if the value before its horizon is known. Throws Error as `fill` and Forecaster do, and if the weights
/// were not trained to forecast.
ForecastComparison compare_forecasts(const TrainedModel& trained, const ComparisonOptions& options = {});

}  // namespace npzoo
