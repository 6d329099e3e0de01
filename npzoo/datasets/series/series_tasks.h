#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "npzoo/datasets/series/windows.h"
#include "npzoo/datasets/task_config.h"

namespace npzoo {

/// Tasks that are windows of a time series, wherever it comes from: the latter part of a window, given the former.
class SeriesTasks : public TaskConfig {
 public:
  explicit SeriesTasks(WindowRules rules) : rules_(std::move(rules)) {}

  std::int64_t dim_x() const override { return rules_.dim_x(); }
  std::int64_t dim_y() const override { return std::ssize(values()); }
  std::unique_ptr<TaskSource> source(const SourceOptions& options) const override;
  TaskExtents typical_extents() const override { return {rules_.context, rules_.horizon}; }
  TrainingRange training_range() const override;
  /// Windows of the test from anywhere in it.
  Batch picture(std::int64_t tasks, std::uint64_t seed) const override;
  Application application() const override { return Application::forecasts; }
  const SeriesTasks* as_series() const final { return this; }

  /// Names of the values.
  virtual const std::vector<std::string>& values() const = 0;
  /// The column of times, where the series is a table of the user's own; empty for others.
  virtual std::string time_column() const { return ""; }
  /// Typical distance of two rows of such a table, days or the unit of time, where the protocol has it.
  virtual std::optional<double> time_step() const { return {}; }
  /// Of the training part, known without the series where the protocol has it.
  virtual SeriesScale scale() const = 0;
  /// Reads the series on the first call. Throws Error where it is not at hand.
  virtual std::shared_ptr<const ForecastSeries> series() const = 0;

  const WindowRules& rules() const { return rules_; }

 protected:
  WindowRules rules_;
};

}  // namespace npzoo
