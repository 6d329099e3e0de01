#pragma once

#include "npzoo/datasets/kinds/test_function/functions.h"
#include "npzoo/datasets/task_source.h"

namespace npzoo {

/// Settings of `[data] kind = "test_function"`.
struct TestFunctionTasks {
  const TestFunction* function = nullptr;
  std::int64_t dims = 1, candidates = 1000, initial = 1;
  Interval domain{-2, 2};  // what the bounds of each input become
};

/// A test function at the points of a Sobol sequence of its own for each task, after `initial` points that are given,
/// uniform in the box. Values are in standard deviations from the function's mean, over 4096 points of the box: what a
/// model that has learned functions of unit scale can make something of.
class TestFunctionSource final : public TaskSource {
 public:
  TestFunctionSource(const TestFunctionTasks& tasks, const SourceOptions& options);

  Batch batch(std::uint64_t index) const override;
  Device device() const override { return options_.device; }

 private:
  /// At a point of the unit cube.
  double value(std::span<const double> unit) const;

  TestFunctionTasks tasks_;
  SourceOptions options_;
  double mean_ = 0, std_ = 1;
};

}  // namespace npzoo
