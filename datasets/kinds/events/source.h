#pragma once

#include <memory>
#include <vector>

#include "npzoo/datasets/events/event_task.h"

namespace npzoo {

/// An endless number of sequences of a process.
class SimulatedEvents final : public TaskSource {
 public:
  SimulatedEvents(std::shared_ptr<const PointProcess> process, const SimulatedExtent& extent,
                  const EventTaskRules& rules, const SourceOptions& options);

  Batch batch(std::uint64_t index) const override;
  Device device() const override { return options_.device; }

 private:
  std::shared_ptr<const PointProcess> process_;
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
