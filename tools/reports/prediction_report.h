#pragma once

#include <vector>

#include "npzoo/models/applications/tables/prediction_report.h"
#include "tools/cli/json_value.h"

namespace npzoo::tools {

/// The texts alone.
JsonValue to_json(const std::vector<Warning>& warnings);
/// `standardised`, `inputs`, `values` and `warnings`.
JsonValue to_json(const PredictionReport& report);

}  // namespace npzoo::tools
