#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "npzoo/datasets/kinds/test_function/source.h"
#include "npzoo/datasets/sobol.h"
#include "npzoo/datasets/task_config.h"
#include "npzoo/datasets/toml_reader.h"

namespace npzoo {

namespace {

constexpr std::int64_t kMostCandidates = 100'000;

/// `kind = "test_function"`.
class TestFunctionConfig final : public TaskConfig {
 public:
  explicit TestFunctionConfig(const TestFunctionTasks& tasks) : tasks_(tasks) {}

  std::int64_t dim_x() const override { return tasks_.dims; }
  std::int64_t dim_y() const override { return 1; }
  std::unique_ptr<TaskSource> source(const SourceOptions& options) const override {
    return std::make_unique<TestFunctionSource>(tasks_, options);
  }
  /// A test may be of another function of as many inputs, and have other numbers of points.
  std::shared_ptr<const TaskConfig> with_test_overrides(TomlReader& test) const override {
    TestFunctionTasks t = tasks_;
    if (test.has("function")) t.function = read_function(test, t.dims);
    if (test.has("candidates")) t.candidates = test.integer("candidates", "points to choose from", 1, kMostCandidates);
    if (test.has("initial"))
      t.initial = test.integer("initial", "points that are evaluated at first", 1, kMostCandidates);
    return std::make_shared<const TestFunctionConfig>(t);
  }
  TaskExtents typical_extents() const override { return {tasks_.initial, tasks_.candidates}; }
  TrainingRange training_range() const override {
    return {.inputs = tasks_.domain, .min_context = tasks_.initial, .max_context = tasks_.initial};
  }

  static const TestFunction* read_function(TomlReader& reader, std::int64_t dims) {
    std::vector<std::string_view> names;
    for (const TestFunction& function : test_functions())
      if (function.dims == 0 || function.dims == dims) names.push_back(function.name);
    const std::string name = reader.choice("function", "function to minimise", names);
    return &*std::ranges::find(test_functions(), name, &TestFunction::name);
  }

 private:
  TestFunctionTasks tasks_;
};

}  // namespace

std::shared_ptr<const TaskConfig> read_test_function_config(TomlReader& data) {
  TestFunctionTasks t;
  t.dims = data.integer("dims", "inputs", 1, kMostSobolDims);
  t.function = TestFunctionConfig::read_function(data, t.dims);
  t.candidates = data.integer("candidates", "points to choose from", 1, kMostCandidates);
  t.initial = data.integer("initial", "points that are evaluated at first", 1, kMostCandidates);
  std::tie(t.domain.low, t.domain.high) = data.two_numbers("domain", "range of each input", kFinite);
  if (t.domain.low >= t.domain.high)
    data.reject("domain", fmt::format("[{}, {}]", t.domain.low, t.domain.high), "low < high");
  return std::make_shared<const TestFunctionConfig>(t);
}

}  // namespace npzoo
