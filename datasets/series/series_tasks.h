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
  /// Returns the column of times of a user's own table; empty for other series.
  virtual std::string time_column() const { return ""; }
  /// Returns the typical distance of two rows of such a table, in days or the unit of time, if the protocol states it.
  virtual std::optional<double> time_step() const { return {}; }
  /// Returns the scale of the training part. Reads no series if the protocol states the scale.
  virtual SeriesScale scale() const = 0;
  /// Reads the series on the first call. Throws Error if its file is missing.
  virtual std::shared_ptr<const ForecastSeries> series() const = 0;

  const WindowRules& rules() const { return rules_; }

 protected:
  WindowRules rules_;
};

}  // namespace npzoo
