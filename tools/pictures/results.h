#pragma once

#include <span>

#include "tools/cli/json_value.h"
#include "tools/plot/chart.h"

namespace npzoo::tools {

/// Draws stores of results (tools/reproduce/results_store.h). Each test and figure has a panel. For each model it shows
/// our mean and seeds beside the published figure. Bars are our standard error, and the ± that the source prints.
/// Throws Error if no store has a row.
plot::Figure draw_results(std::span<const JsonValue> stores);

}  // namespace npzoo::tools
