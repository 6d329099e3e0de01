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

/// The sequences of a file: in training once an epoch, each as a piece that lies anywhere where it is longer than a
/// task may be; else once, whole, in their order.
class RecordedEvents final : public TaskSource {
 public:
  /// Each has a target. There must be one.
  RecordedEvents(std::vector<std::shared_ptr<const EventSequence>> sequences, const EventTaskRules& rules,
                 const SourceOptions& options);

  Batch batch(std::uint64_t index) const override;
  std::optional<std::int64_t> size() const override;
  Device device() const override { return options_.device; }

 private:
  std::vector<std::shared_ptr<const EventSequence>> sequences_;
  EventTaskRules rules_;
  SourceOptions options_;
};

}  // namespace npzoo
