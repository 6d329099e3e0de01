#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "npzoo/datasets/kinds/forecast/source.h"
#include "npzoo/datasets/task_config.h"

namespace npzoo {

/// `[data] kind = "forecast"`: the latter part of a window of a series, given the former.
class ForecastConfig final : public TaskConfig {
 public:
  /// `table` is that of a series that is not a published one.
  struct Table {
    std::string path;      // absolute
    std::string checksum;  // of its bytes: other ones are another table
    std::string time;      // a column
    /// Of the training part, where the protocol says it: then a forecast is possible without the table.
    std::optional<SeriesScale> scale{};
    /// Typical distance of two rows, days or the unit of time, where the protocol has it.
    std::optional<double> step{};
  };
  struct Data {
    std::string set;  // "table", or a published one
    Table table{};
    std::vector<std::string> values{};  // columns
    SeriesSplit split{};
  };

  ForecastConfig(Data data, WindowRules rules);

  std::int64_t dim_x() const override { return rules_.dim_x(); }
  std::int64_t dim_y() const override { return std::ssize(data().values); }
  std::unique_ptr<TaskSource> source(const SourceOptions& options) const override;
  /// A test may have another horizon or stride, and need not.
  std::shared_ptr<const TaskConfig> with_test_overrides(TomlReader& test) const override;
  TaskExtents typical_extents() const override { return {rules_.context, rules_.horizon}; }
  TrainingRange training_range() const override;
  Application application() const override { return Application::forecasts; }
  /// Windows of the test from anywhere in it.
  Batch picture(std::int64_t tasks, std::uint64_t seed) const override;

  const Data& data() const;
  const WindowRules& rules() const { return rules_; }
  SeriesScale scale() const;
  /// Reads the series when it is asked for, and once. Throws Error where it is not at hand.
  std::shared_ptr<const ForecastSeries> series() const;

 private:
  struct Read;

  std::shared_ptr<Read> read_;
  WindowRules rules_;
};

}  // namespace npzoo
