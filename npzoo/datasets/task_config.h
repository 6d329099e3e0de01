#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "npzoo/datasets/image_format.h"
#include "npzoo/datasets/interval.h"
#include "npzoo/datasets/task_source.h"
#include "npzoo/datasets/toml_reader.h"

namespace npzoo {

/// What tasks show a model, in their units.
struct TrainingRange {
  Interval inputs;                                // of every column
  std::int64_t min_context = 0, max_context = 0;  // points
  double value_std = 1;                           // root of the mean variance of the functions, without noise
  double target_noise = 0;                        // a standard deviation
  double widest_std = 1, narrowest_std = 1;       // of functions without noise: the prior's largest and least scale
  double context_noise = 0;                       // a standard deviation
  bool noise_varies = false;                      // from task to task: the noises above are the least
  double reach = 0;                               // targets lie at most so far outside of `inputs`
  double tails = 5;                               // widest deviations that one value in a million lies beyond
};

/// Points of one task.
struct TaskExtents {
  std::int64_t context = 0, targets = 0;
};

/// What people do with a model that was trained on some tasks: an application of npzoo/models/applications.
enum class Application : std::uint8_t {
  points,     // predict at targets given one context, both as they stand
  tables,     // fill tables, whose columns and groups are functions
  forecasts,  // continue a series
  events,     // continue sequences of events
};

/// The `[data]` of a protocol: which tasks there are. One class for each kind.
class TaskConfig {
 public:
  virtual ~TaskConfig() = default;

  virtual std::int64_t dim_x() const = 0;
  virtual std::int64_t dim_y() const = 0;

  /// Throws Error where there can be no such tasks.
  virtual std::unique_ptr<TaskSource> source(const SourceOptions& options) const = 0;
  /// The same with what a `[[evaluation.tests]]` table changes: reads those keys, and may require them.
  virtual std::shared_ptr<const TaskConfig> with_test_overrides(TomlReader& test) const = 0;

  /// Of a task as most are, for measurements.
  virtual TaskExtents typical_extents() const = 0;
  virtual TrainingRange training_range() const = 0;
  /// Tasks to be drawn in a picture, in float32 on the CPU: functions are seen where they go, so targets may be more
  /// than in training, and free of noise, but what `truth` says is of values as they are observed. This default gives
  /// the first tasks of an evaluation.
  virtual Batch picture(std::int64_t tasks, std::uint64_t seed) const;
  /// True if the tasks of evaluations are made of what validations use. If the best validation chose the weights, such
  /// a test chose them, and its figures are too good.
  virtual bool tested_on_validation() const { return false; }
  /// What `predict` does with a model of these tasks.
  virtual Application application() const { return Application::points; }
  /// How an image becomes a task, where tasks are images.
  virtual std::optional<ImageFormat> image_format() const { return {}; }
};

/// A kind of tasks: what `[data] kind = "…"` names. `read` reads the other keys of the table.
struct TaskFamily {
  std::string_view kind;
  std::shared_ptr<const TaskConfig> (*read)(TomlReader& data);
};

/// One kind more than this build has, as long as it lives. Not while another thread reads a protocol.
class AddedTaskFamily {
 public:
  explicit AddedTaskFamily(const TaskFamily& family);
  AddedTaskFamily(const AddedTaskFamily&) = delete;
  AddedTaskFamily& operator=(const AddedTaskFamily&) = delete;
  ~AddedTaskFamily();

 private:
  std::string_view kind_;
};

/// Every kind that can be read.
std::span<const TaskFamily> task_families();

/// Reads a `[data]` table as its kind does; strict.
std::shared_ptr<const TaskConfig> read_task_config(TomlReader data);

}  // namespace npzoo
