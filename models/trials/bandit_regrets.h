#pragma once

#include <cstdint>
#include <vector>

#include "npzoo/datasets/scores.h"

namespace npzoo {

/// Regrets of the tasks of a batch: reward of the best arm minus that of the chosen one.
struct BatchRegrets {
  std::vector<std::vector<double>> cumulative;  // (tasks, steps)
  std::vector<double> optimal;                  // (steps, tasks): 1 where the best arm was chosen, else 0

  static void fields(auto& bytes, auto& self) { bytes(self.cumulative, self.optimal); }
};

/// Regrets of the tasks of all batches.
struct Regrets {
  std::vector<std::vector<double>> cumulative;  // (tasks, steps)
  RunningMean optimal;                          // share of steps in which the best arm was chosen

  void add(const BatchRegrets& batch);
  /// Returns the regret of each task from step `begin` to before `end`.
  std::vector<double> lost(std::int64_t begin, std::int64_t end) const;
  std::int64_t steps() const { return std::ssize(cumulative.front()); }
};

/// Mean over the tasks with its standard error, and the deviation of the tasks, as published.
struct RelativeRegret {
  Estimate mean;
  double deviation = 0;
};

/// Returns regrets in per cent of the mean regret of uniform choice in the same steps of the same tasks. Throws Error
/// if that is not above 0.
RelativeRegret relative_regret(const Regrets& regrets, const Regrets& uniform, std::int64_t begin, std::int64_t end);

}  // namespace npzoo
