#pragma once

#include <memory>
#include <vector>

#include "npzoo/datasets/events/process.h"
#include "npzoo/datasets/task_source.h"

namespace npzoo {

/// The mark of what is no event but the end of a sequence: for the target's gap, nothing happened. Rows of padding are
/// such ends too, after a gap of 0, and so have a log-likelihood of 0 under whatever is predicted.
inline constexpr double kNoEvent = -1;

/// How sequences become tasks. Event i of a sequence is a point: x is its number i, y (B, N, 2) the gap since the event
/// before and the mark as an exact number. The gap of the first event of a context is the time since the sequence
/// began, also in a piece from within it. The context is the first events, the targets are those that follow in their
/// order and, where a sequence is observed on after its last event, an end (kNoEvent).
struct EventTaskRules {
  std::int64_t context = 1;  // events; fewer where a sequence has no more
  std::int64_t points = 0;   // most events of a task of training, a piece of its sequence; 0: any number
  bool ragged = true;        // whether tasks of a batch may differ in length; then weights and lengths are there
};

/// Events [first, end) of a sequence, as a task.
struct SequencePiece {
  const EventSequence* sequence = nullptr;
  std::int64_t first = 0, end = 0;
};

/// Training weights of all targets are alike, and add up to the number of events.
Task event_task(const std::vector<SequencePiece>& pieces, const EventTaskRules& rules, const SourceOptions& options);

/// The events of a task: context, then targets, from the time on that the first gap begins with. `first_target` is the
/// number of the first target.
struct TaskEvents {
  EventSequence sequence;
  std::int64_t first_target = 0;
};
/// Returns the events of each task of a batch.
std::vector<TaskEvents> events_of(const Task& batch);

/// The processes that the sequences of a batch were drawn from.
class EventTruth final : public Truth {
 public:
  /// `processes`: one of each task. Each batch of a source has the same `name`.
  EventTruth(std::string name, std::vector<std::shared_ptr<const PointProcess>> processes)
      : name_(std::move(name)), processes_(std::move(processes)) {}

  std::string name() const override { return name_; }
  /// The sum over the targets, each given all events before it: the joint density, and none of each by itself.
  std::optional<std::vector<double>> log_likelihood(const Task& task, Density density) const override;

 private:
  std::string name_;
  std::vector<std::shared_ptr<const PointProcess>> processes_;
};

}  // namespace npzoo
