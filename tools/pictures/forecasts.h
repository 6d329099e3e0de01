#pragma once

#include <vector>

#include "npzoo/datasets/series/series_tasks.h"
#include "tools/pictures/tasks.h"

namespace npzoo::tools {

/// Rows of windows: what came before, bands and paths of the models, and what came, in steps from the first that is
/// forecast and in the units of the series.
plot::Figure draw_forecasts(const TaskPicture& drawn, const std::vector<Shown>& models, const SeriesTasks& data,
                            const Batch& batch);

}  // namespace npzoo::tools
