#pragma once

#include <filesystem>
#include <vector>

#include "tools/plot/chart.h"

namespace npzoo::tools {

/// Draws the logs of trainings (`read_training_log`). Each figure has a panel and each run a colour; lines are dashed
/// from the eighth run on. A line of many values is thin and has a bold moving average. The range of a panel leaves out
/// extreme values and the beginning of each run, which would hide the rest.
plot::Figure draw_curves(const std::vector<std::filesystem::path>& runs);

}  // namespace npzoo::tools
