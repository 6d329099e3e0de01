#include "npzoo/datasets/kinds/table_tasks/config.h"

#include <fmt/format.h>

#include <memory>
#include <mutex>
#include <span>
#include <utility>

#include "npzoo/datasets/kinds/table_tasks/source.h"
#include "npzoo/datasets/own_protocol.h"
#include "npzoo/datasets/tables/table_reader.h"
#include "npzoo/datasets/task_config.h"
#include "npzoo/engine/error.h"
#include "npzoo/engine/io/byte_hash.h"
#include "npzoo/engine/io/file.h"

namespace npzoo {

namespace {

constexpr NumberRule kProperShare{[](double x) { return x > 0 && x < 1; }, "a number > 0 and < 1"};

/// A table is read when its first task is asked for, and once: a checkpoint predicts without it.
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
      if (!read) read = std::make_shared<const TableData>(read_table_data(tasks));
      return read;
    }

    const TableTasks tasks;
    std::mutex mutex;
    std::shared_ptr<const TableData> read;
  };

  std::shared_ptr<Read> read_;
};

/// What suits some hundred groups.
constexpr OwnRecipe kTableRecipe{.description = "Tasks out of a table",
                                 .source = "a table of the user's own",
                                 .steps = 5000,
                                 .warmup_steps = 100,
                                 .batch_size = 16,
                                 .validation_every = 500,
                                 .validation_batches = 50,
                                 .evaluation_batches = 200,
                                 .evaluation_batch_size = 16};

}  // namespace

void check_read_again(const std::filesystem::path& path, const char* where) {
  std::error_code error;
  const bool is_other =
      path == "-" || (std::filesystem::exists(path, error) && !std::filesystem::is_directory(path, error) &&
                      !std::filesystem::is_regular_file(path, error));
  check(!is_other, "[{}] {} found, expected a file: a training that goes on reads it again", where, path.string());
}

std::string table_checksum(const std::filesystem::path& path) {
  ReadOnlyFile file(path);
  ByteHash hash;
  std::vector<std::byte> bytes(std::size_t{1} << 16);
  while (const std::size_t count = file.read(bytes)) hash.add(bytes.data(), count);
  return hash.digest();
}

void check_table_unchanged(const std::filesystem::path& path, const std::string& checksum) {
  const std::string found = table_checksum(path);
  check(found == checksum, "[table] {} has changed: checksum {} found, expected {}", path.string(), found, checksum);
}

TableTasks describe_table(const std::filesystem::path& path, const std::string& group, std::vector<std::string> inputs,
                          std::vector<std::string> values) {
  check_read_again(path, "table");
  const TableReader table(path);
  const TableFormat& format = table.format();
  if (!group.empty()) static_cast<void>(format.column(group));
  std::vector<std::string> used;
  for (const auto* names : {&inputs, &values})
    for (const std::string& name : *names) {
      static_cast<void>(format.column(name));
      check(std::ranges::count(used, name) == 0 && name != group, "[table] {}: the column {} is asked for twice",
            path.string(), name);
      used.push_back(name);
    }
  return {absolute_path(path).string(), table_checksum(path), group, std::move(inputs), std::move(values)};
}

std::string table_protocol(const TableTasks& tasks, std::string_view base, const std::string& name, bool short_recipe) {
  toml::table data{{"kind", "table"},
                   {"path", tasks.path},
                   {"checksum", tasks.checksum},
                   {"group", tasks.group},
                   {"inputs", toml_array(tasks.inputs)},
                   {"values", toml_array(tasks.values)},
                   {"points", tasks.points},
                   {"held_out", toml::array{tasks.held_out.validation, *tasks.held_out.test}}};
  return own_protocol(base, "[table]", kTableRecipe, short_recipe, name, std::move(data));
}

namespace {

HeldOut read_held_out(TomlReader& data) {
  if (!data.is_array("held_out")) return {.validation = data.number("held_out", kProperShare)};
  const auto [validation, test] = data.two_numbers("held_out", kProperShare);
  if (validation + test >= 1)
    data.reject("held_out", fmt::format("[{}, {}]", validation, test), "shares that leave some for training");
  return {.validation = validation, .test = test};
}

}  // namespace

std::shared_ptr<const TaskConfig> read_table_config(TomlReader& data) {
  constexpr std::int64_t kMostPoints = 4096;
  TableTasks tasks;
  tasks.path = data.text("path");
  tasks.checksum = data.text("checksum");
  tasks.group = data.text("group");
  tasks.inputs = data.texts("inputs");
  if (tasks.inputs.size() > 3) data.reject("inputs", fmt::format("of {} columns", tasks.inputs.size()), "at most 3");
  tasks.values = data.texts("values");
  tasks.points = data.integer("points", 2 * TableData::kLeastKnown, kMostPoints);
  tasks.held_out = read_held_out(data);
  return std::make_shared<TableConfig>(std::move(tasks));
}

}  // namespace npzoo
