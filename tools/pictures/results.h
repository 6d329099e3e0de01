#pragma once

#include <span>

#include "tools/cli/json_value.h"
#include "tools/plot/chart.h"

namespace npzoo {

/// Draws stores of results (tools/reproduce/results_store.h): a panel for each test and figure, in it our mean and each
/// seed beside the published figure, model by model. Bars are 95 % intervals of ours, and what the source prints.
/// Throws Error if no store has a row.
plot::Figure draw_results(std::span<const JsonValue> stores);

}  // namespace npzoo
