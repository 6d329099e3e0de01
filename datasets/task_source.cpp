#include "npzoo/datasets/task_source.h"

namespace npzoo {

std::optional<double> mean_log_likelihood(const Truth& truth, const Task& task, Density density) {
  const auto tasks = truth.log_likelihood(task, density);
  if (!tasks) return {};
  double sum = 0;
  for (const double value : *tasks) sum += value;
  return sum / static_cast<double>(task.xt.dim(0) * task.xt.dim(1));
}

}  // namespace npzoo
