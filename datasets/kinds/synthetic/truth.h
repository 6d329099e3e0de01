#pragma once

#include <memory>
#include <vector>

#include "npzoo/datasets/gaussian_processes/truth.h"
#include "npzoo/datasets/kinds/synthetic/process.h"

namespace npzoo {

/// The distribution of a task: its values are (scale · (f + noise) − shift) / std, with f from `process`.
struct KnownTask {
  std::shared_ptr<const Process> process;  // null where values are not Gaussian
  double scale, shift, std;
};

/// The exact posteriors of Gaussian tasks, given all hyper-parameters that they were drawn with.
class SyntheticTruth final : public Truth {
 public:
  explicit SyntheticTruth(std::vector<KnownTask> tasks) : tasks_(std::move(tasks)) {}

  std::string name() const override { return "exact GP"; }
  std::optional<std::vector<double>> log_likelihood(const Task& task, Density density) const override;
  std::optional<Curve> curve(const Task& task, std::int64_t row, std::span<const double> x) const override;

  const std::vector<KnownTask>& tasks() const { return tasks_; }

 private:
  std::vector<KnownTask> tasks_;
};

}  // namespace npzoo
