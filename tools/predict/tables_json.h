#pragma once

#include "npzoo/models/applications/tables/fill.h"
#include "tools/cli/json_value.h"
#include "tools/predict/options.h"

namespace npzoo::tools {

/// `rows`: of the table that was written.
JsonValue to_json(const FillResult& result, const PredictOptions& options, std::int64_t rows, double seconds);

}  // namespace npzoo::tools
