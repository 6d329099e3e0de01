#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "tools/plot/chart.h"

namespace npzoo {

/// Draws what the logs of trainings (`read_training_log`) tell, a panel for each figure and a colour for each run,
/// dashed from the eighth run on. Lines of many values are thin, with a bold moving average on them. How a training
/// began is left out of the range of values where it would hide the rest.
plot::Figure draw_curves(const std::vector<std::filesystem::path>& runs);

/// A short name for each path: without the leading folders that all have in common.
std::vector<std::string> names_of_runs(const std::vector<std::filesystem::path>& runs);

}  // namespace npzoo
