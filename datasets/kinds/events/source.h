#pragma once

#include <memory>
#include <vector>

#include "npzoo/datasets/events/event_task.h"

namespace npzoo {

/// The processes that simulated sequences come from.
struct SimulatedProcesses {
  std::shared_ptr<const PointProcess> one{};  // of all sequences; null: each has its own, drawn by draw_process
  std::int64_t marks = 1;                     // most of a process

  /// Returns the process of the next sequence.
  std::shared_ptr<const PointProcess> next(Random& random) const;
  /// "Hawkes process".
  std::string truth() const;
};

/// An endless number of sequences.
class SimulatedEvents final : public TaskSource {
 public:
  SimulatedEvents(SimulatedProcesses processes, const SimulatedExtent& extent, const EventTaskRules& rules,
                  const SourceOptions& options);

  Batch batch(std::uint64_t index) const override;
  Device device() const override { return options_.device; }

 private:
  SimulatedProcesses processes_;
  SimulatedExtent extent_;
  EventTaskRules rules_;
  SourceOptions options_;
};

/// Events [first, end) of a recorded sequence.
struct RecordedPiece {
  std::shared_ptr<const EventSequence> sequence;
  std::int64_t first = 0, end = 0;

  std::int64_t events() const { return end - first; }
};

/// Pieces of the sequences of a file. Training takes each once an epoch, and a part of it that lies anywhere where it
/// is longer than a task may be. Validation and test take each once, whole, in their order.
class RecordedEvents final : public TaskSource {
 public:
  /// Each has a target. There must be one.
  RecordedEvents(std::vector<RecordedPiece> pieces, const EventTaskRules& rules, const SourceOptions& options);

  Batch batch(std::uint64_t index) const override;
  std::optional<std::int64_t> size() const override;
  Device device() const override { return options_.device; }

 private:
  std::vector<RecordedPiece> pieces_;
  EventTaskRules rules_;
  SourceOptions options_;
};

}  // namespace npzoo
