#pragma once

#include <cstdint>
#include <vector>

#include "npzoo/datasets/task_config.h"
#include "tools/pictures/shown.h"
#include "tools/plot/chart.h"

namespace npzoo::tools {

/// Settings of a picture of tasks.
struct TaskPicture {
  int tasks = 2;    // rows
  int samples = 5;  // functions through a band
  std::uint64_t seed = 0;
};

/// `points` from one end of a range to the other.
std::vector<double> regular_grid(const Interval& range, std::int64_t points);

/// Rows of curves over one input: the models' and, if it is known, the truth's.
plot::Figure draw_curves(const TaskPicture& drawn, const std::vector<Shown>& models, const TaskConfig& data,
                         const Batch& batch);
/// Rows of maps over two: context, mean and, of a model alone, standard deviation, and the targets.
plot::Figure draw_maps(const TaskPicture& drawn, const std::vector<Shown>& models, const TaskConfig& data,
                       const Batch& batch);

}  // namespace npzoo::tools
