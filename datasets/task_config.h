#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "npzoo/datasets/image_format.h"
#include "npzoo/datasets/interval.h"
#include "npzoo/datasets/model_config.h"
#include "npzoo/datasets/task_source.h"
#include "npzoo/datasets/toml_reader.h"

namespace npzoo {

/// Range of the tasks in training, in their units.
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

/// The application (npzoo/models/applications) of the models that are trained on some tasks.
enum class Application : std::uint8_t {
  points,     // predict at targets given one context, both as they stand
  tables,     // fill tables, whose columns and groups are functions
  forecasts,  // continue a series
  events,     // continue sequences of events
};

class EventTasks;
class SeriesTasks;
class TaskTable;
struct OracleFindings;
struct OracleOptions;
struct OwnData;
struct OwnTasks;

/// The form of tasks. It decides which models take them, and how they are scored, written and drawn.
enum class TaskForm : std::uint8_t {
  points,  // sets of points, images among them: their order means nothing
  events,  // sequences of events, see EventTasks
  series,  // windows of a time series, see SeriesTasks
};

/// The `[data]` of a protocol: which tasks there are. One class for each kind. Commands and trials know tasks by this
/// interface and by their form, and no kind by its name.
class TaskConfig {
 public:
  virtual ~TaskConfig() = default;

  virtual std::int64_t dim_x() const = 0;
  virtual std::int64_t dim_y() const = 0;

  /// Throws Error if there can be no such tasks.
  virtual std::unique_ptr<TaskSource> source(const SourceOptions& options) const = 0;
  /// The same with what a `[[evaluation.tests]]` table changes: reads those keys, and may require them.
  virtual std::shared_ptr<const TaskConfig> with_test_overrides(TomlReader& test) const = 0;

  /// Returns the size of a typical task, for measurements.
  virtual TaskExtents typical_extents() const = 0;
  virtual TrainingRange training_range() const = 0;
  /// Tasks to be drawn in a picture, in float32 on the CPU: functions are seen where they go, so targets may be more
  /// than in training, and free of noise, but what `truth` says is of values as they are observed. This default gives
  /// the first tasks of an evaluation.
  virtual Batch picture(std::int64_t tasks, std::uint64_t seed) const;
  /// True if the tasks of evaluations are made of what validations use. If the best validation chose the weights, such
  /// a test chose them, and its figures are too good.
  virtual bool tested_on_validation() const { return false; }
  /// True if a task of a large batch is drawn otherwise than one of a small batch, as if the largest context of a batch
  /// bounds the targets of all its tasks. Then mean figures depend on the batch size.
  virtual bool batch_size_matters() const { return true; }
  /// Returns the application that `predict` runs with a model of these tasks.
  virtual Application application() const { return Application::points; }
  /// How an image becomes a task, where tasks are images.
  virtual std::optional<ImageFormat> image_format() const { return {}; }

  /// More about tasks that are sequences of events, or windows of a series. Null for tasks of another form.
  virtual const EventTasks* as_events() const { return nullptr; }
  virtual const SeriesTasks* as_series() const { return nullptr; }
  TaskForm form() const;
  /// Constructor parameters, besides dim_x and dim_y, that models of this form need, such as the number of classes.
  virtual ModelConfig extra_sizes() const { return {}; }

  /// Writes the first `tasks` tasks of an evaluation with this seed, or as many as there are, and returns their number.
  /// By default every point is a row: a column `task` if there are several, the inputs, the values. Throws Error for a
  /// number that is not finite.
  virtual std::int64_t write(std::int64_t tasks, std::uint64_t seed, TaskTable& table) const;
  /// Computes the best values that are possible in expectation. By default throws Error: they are not known.
  virtual OracleFindings oracle(const OracleOptions& options) const;
  /// Describes tasks like these on data of the user's own. By default throws Error: there can be no such tasks.
  virtual OwnTasks on_own_data(const OwnData& own) const;
};

/// A kind of tasks: what `[data] kind = "…"` names. `read` reads the other keys of the table.
struct TaskFamily {
  std::string_view kind;
  std::shared_ptr<const TaskConfig> (*read)(TomlReader& data);
  std::string_view former_name{};  // in protocols of npzoo 0.1, which are part of its checkpoints; empty: the same
};

/// Adds a kind to those of this build, as long as it lives. Any thread may read protocols meanwhile.
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

/// The name of the kind that has this name or had it before; `kind` itself if there is none.
std::string_view present_kind(std::string_view kind);

/// Reads `kind`: the present name of a kind of tasks.
std::string read_kind(TomlReader& data, std::span<const TaskFamily> known);

/// Reads a `[data]` table as its kind does; strict. Former names of kinds are read as well.
std::shared_ptr<const TaskConfig> read_task_config(TomlReader data);

}  // namespace npzoo
