#include "npzoo/datasets/kinds/table_tasks/config.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <utility>

#include "npzoo/datasets/kinds/table_tasks/source.h"
#include "npzoo/datasets/own_data.h"
#include "npzoo/datasets/tables/own_file.h"
#include "npzoo/datasets/tables/table_reader.h"
#include "npzoo/datasets/task_config.h"
#include "npzoo/engine/error.h"
#include "npzoo/engine/io/file.h"
#include "npzoo/engine/io/toml.h"

namespace npzoo {

namespace {

constexpr NumberRule kProperShare{[](double x) { return x > 0 && x < 1; }, "a number > 0 and < 1"};

/// A table is read once, for the first task: a checkpoint predicts without it.
class TableConfig final : public TaskConfig {
 public:
  explicit TableConfig(TableTasks tasks) : read_(std::make_shared<Read>(std::move(tasks))) {}

  std::int64_t dim_x() const override { return std::ssize(read_->tasks.inputs); }
  std::int64_t dim_y() const override { return 1; }
  std::unique_ptr<TaskSource> source(const SourceOptions& options) const override {
    return std::make_unique<TableSource>(read_->data(), dim_x(), read_->tasks.points, training_range(), options);
  }
  std::shared_ptr<const TaskConfig> with_test_overrides(TomlReader& /*test*/) const override {
    return std::make_shared<TableConfig>(*this);
  }
  bool tested_on_validation() const override { return read_->data()->tested_on_validation; }
  OwnTasks on_own_data(const OwnData& own) const override {
    const TableTasks tasks = describe_table(own_data_as<OwnTable>(own, "a table and its columns of inputs"));
    return {.data = toml_text(toml::table{{"path", tasks.path},
                                          {"checksum", tasks.checksum},
                                          {"group", tasks.group},
                                          {"inputs", toml_array(tasks.inputs)},
                                          {"values", toml_array(tasks.values)}})};
  }
  TaskExtents typical_extents() const override { return {read_->tasks.points / 2, read_->tasks.points / 4}; }
  TrainingRange training_range() const override {
    constexpr double kReach = 1;     // of gaps at the end, a quarter of a window
    constexpr double kNoise = 1e-3;  // as in npzoo/any-1d: that of measurements is not known, and part of their targets
    return {.inputs = {-2, 2},
            .min_context = TableSource::kLeastContext,
            .max_context = read_->tasks.points,
            .value_std = 1,
            .target_noise = kNoise,
            .widest_std = 1,
            .narrowest_std = 1,
            .context_noise = kNoise,
            .noise_varies = true,
            .reach = kReach};
  }

 private:
  struct Read {
    explicit Read(TableTasks t) : tasks(std::move(t)) {}

    std::shared_ptr<const TableData> data() {
      const std::lock_guard lock(mutex);
      check(!tasks.path.empty(), "[table] no table found, expected npzoo train --table FILE");
      if (!read) read = std::make_shared<const TableData>(read_table_data(tasks));
      return read;
    }

    const TableTasks tasks;
    std::mutex mutex;
    std::shared_ptr<const TableData> read;
  };

  std::shared_ptr<Read> read_;
};

HeldOut read_held_out(TomlReader& data) {
  data.any_form("held_out", "shares of the groups for validation and test; one number: for both together",
                "a number > 0 and < 1, or [validation, test]");
  if (!data.is_array("held_out")) return {.validation = data.number("held_out", kPartOfForm, kProperShare)};
  const auto [validation, test] = data.two_numbers("held_out", kPartOfForm, kProperShare);
  data.expect(validation + test < 1, "held_out", fmt::format("[{}, {}]", validation, test),
              "shares that leave some for training");
  return {.validation = validation, .test = test};
}

}  // namespace

TableTasks describe_table(const OwnTable& own) {
  check_read_again(own.path, "table");
  const TableReader table(own.path);
  const TableFormat& format = table.format();
  if (!own.group.empty()) static_cast<void>(format.column(own.group));
  std::vector<std::string> used;
  for (const auto* names : {&own.inputs, &own.values})
    for (const std::string& name : *names) {
      static_cast<void>(format.column(name));
      check(std::ranges::count(used, name) == 0 && name != own.group, "[table] {}: the column {} is named twice",
            own.path.string(), name);
      used.push_back(name);
    }
  return {absolute_path(own.path).string(), table_checksum(own.path), own.group, own.inputs, own.values};
}

std::shared_ptr<const TaskConfig> read_table_tasks_config(TomlReader& data) {
  constexpr std::int64_t kMostPoints = 4096;
  TableTasks tasks;
  tasks.path = data.text("path", "path of the table");
  tasks.checksum = data.text("checksum", "checksum of its bytes: a changed table is an error");
  tasks.group = data.text("group", "column of the group; empty: one group");
  tasks.inputs = data.texts("inputs", "columns of inputs");
  if (tasks.inputs.size() > 3) data.reject("inputs", fmt::format("of {} columns", tasks.inputs.size()), "at most 3");
  tasks.values = data.texts("values", "columns of values");
  tasks.points = data.integer("points", "most points of a task", 2 * TableData::kLeastKnown, kMostPoints);
  tasks.held_out = read_held_out(data);
  return std::make_shared<TableConfig>(std::move(tasks));
}

}  // namespace npzoo
