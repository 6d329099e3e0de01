#pragma once

#include <memory>
#include <vector>

#include "npzoo/datasets/events/event_task.h"
#include "npzoo/datasets/events/table.h"
#include "npzoo/datasets/task_config.h"

namespace npzoo {

/// Tasks that are sequences of events, wherever they come from.
class EventTasks : public TaskConfig {
 public:
  explicit EventTasks(const EventTaskRules& rules) : rules_(rules) {}

  std::int64_t dim_x() const override { return 1; }
  std::int64_t dim_y() const override { return 2; }
  TrainingRange training_range() const override;
  Application application() const override { return Application::events; }
  const EventTasks* as_events() const final { return this; }
  /// `num_classes`: M.
  ModelConfig extra_sizes() const override;
  /// Writes sequences from beginning to end: columns sequence, time and mark.
  std::int64_t write(std::int64_t tasks, std::uint64_t seed, TaskTable& table) const override;
  /// The log-likelihood per event under the process that sequences are drawn from. Throws Error if they are recorded.
  OracleFindings oracle(const OracleOptions& options) const override;

  /// M.
  virtual std::int64_t marks() const = 0;
  /// Returns the number by which times of a table are divided in tasks.
  virtual double unit() const { return 1; }
  /// How tables of such events are read: the columns of the file of training, its unit and its least gap. Each sequence
  /// ends with its last event.
  virtual EventTableForm table_form() const { return {.marks = marks(), .unit = unit()}; }
  /// True if the file of training is a JODIE one, see read_jodie_table.
  virtual bool is_jodie() const { return false; }
  /// Returns the process of all simulated sequences; null if each has its own, and for recorded ones.
  virtual std::shared_ptr<const PointProcess> process() const { return nullptr; }
  /// Returns what the distribution of simulated sequences is called, "Hawkes process"; empty for recorded ones.
  virtual std::string truth() const { return {}; }
  /// Returns the sequences of training. Simulated ones are endless: it returns some thousand.
  virtual std::vector<EventSequence> training_sequences() const = 0;
  /// Returns up to this many sequences to show: of the test, or simulated with `seed`.
  virtual std::vector<EventSequence> shown(std::int64_t sequences, std::uint64_t seed) const = 0;

  const EventTaskRules& rules() const { return rules_; }

 private:
  EventTaskRules rules_;
};

}  // namespace npzoo
