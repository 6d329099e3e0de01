#include "npzoo/datasets/events/event_tasks.h"

#include <string>

#include "npzoo/datasets/events/scores.h"
#include "npzoo/datasets/oracle.h"
#include "npzoo/datasets/task_table.h"

namespace npzoo {

TrainingRange EventTasks::training_range() const {
  return {
      .inputs = {0, static_cast<double>(PointProcess::kMostEvents)}, .min_context = 0, .max_context = rules_.context};
}

ModelConfig EventTasks::extra_sizes() const { return {{"num_classes", marks()}}; }

std::int64_t EventTasks::write(std::int64_t tasks, std::uint64_t seed, TaskTable& table) const {
  table.begin({.place = {"sequence", "time"}, .values = {"mark"}, .has_targets = false});
  std::int64_t task = 0;
  for (const EventSequence& sequence : shown(tasks, seed)) {
    for (std::size_t i = 0; i < sequence.times.size(); ++i)
      table.add({.task = task,
                 .place = {std::to_string(task + 1), number_cell(sequence.times[i], task)},
                 .values = {std::to_string(sequence.marks[i])}});
    ++task;
  }
  return task;
}

OracleFindings EventTasks::oracle(const OracleOptions& options) const {
  const Estimate known = true_log_likelihood(*this, options.tasks, options.seed);
  return {.figures = {{"known_joint", truth(), &OracleValues::known_joint, known}},
          .unit = "event",
          .task = "sequence",
          .tasks = options.tasks};
}

}  // namespace npzoo
