#pragma once

#include <functional>
#include <vector>

#include "npzoo/models/model.h"

namespace npzoo {

/// Functions at the places where they may be evaluated, all tasks at the same number of them: what is known at first is
/// a task's context, where they may be evaluated its targets. Keeps a reference to the task.
class Candidates {
 public:
  /// Throws Error for tasks of different sizes, and for several values per point.
  explicit Candidates(const Task& task);

  const Task& task() const { return task_; }
  std::int64_t tasks() const { return task_.xt.dim(0); }
  std::int64_t count() const { return task_.xt.dim(1); }
  double value(std::int64_t b, std::int64_t i) const { return values_[static_cast<std::size_t>(b * count() + i)]; }
  /// The least value of the candidates, and of what is known at first where that is less.
  double least(std::int64_t b) const;
  double least_known(std::int64_t b) const;
  /// Returns for each candidate whether its value is known at first.
  const std::vector<bool>& seen() const { return seen_; }

 private:
  const Task& task_;
  std::vector<double> values_, known_;
  std::vector<bool> seen_;
};

/// Knowledge of a search.
struct SearchState {
  Context all, newest;       // (B, n, ·); `newest`: what the last step added, undefined at first
  std::vector<double> best;  // (B)
  std::vector<bool> seen;    // (B, N)
  std::int64_t step = 0;
};

/// Which candidate of each task to evaluate next, (B).
using Chooser = std::function<std::vector<std::int64_t>(const SearchState&)>;

/// After each number of evaluations from 0 on.
struct SearchCurve {
  std::vector<std::vector<double>> simple;  // (steps + 1, B): the best value so far less the least one
  std::vector<double> cumulative;           // (B): of what was evaluated, added up

  static void fields(auto& bytes, auto& self) { bytes(self.simple, self.cumulative); }
};

/// The minimum of every task is sought at the same time.
SearchCurve search(const Candidates& candidates, std::int64_t steps, const Chooser& choose);

/// The candidate of each task that is worth most, (B, N) given, the first of equals; of those alone that were not
/// evaluated, as long as there are any, unless they may be `repeat`ed.
std::vector<std::int64_t> most_worth(const std::vector<double>& worth, const SearchState& state, bool repeat);

}  // namespace npzoo
