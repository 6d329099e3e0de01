#pragma once

#include "npzoo/models/applications/forecasts/forecast.h"
#include "npzoo/models/applications/forecasts/forecast_comparison.h"
#include "tools/cli/json_value.h"

namespace npzoo::tools {

/// `windows`, `best` and, by the name of each way, `mase` and `crps`. Without windows `best` is null.
JsonValue to_json(const ForecastComparison& comparison);
/// Prints the scores, and how to get the best forecast of a table with these columns.
void print(const ForecastComparison& comparison, const ForecastColumns& columns);

}  // namespace npzoo::tools
