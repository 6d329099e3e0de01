#pragma once

#include <memory>

#include "npzoo/datasets/kinds/latent_gp/observation.h"
#include "npzoo/datasets/task_source.h"

namespace npzoo {

/// Tasks of another source, whose values are functions, as they are observed. The host draws them, whatever the device.
class ObservedSource final : public TaskSource {
 public:
  /// `functions` has the options apart from dtype and device: float64 on the CPU.
  ObservedSource(std::unique_ptr<TaskSource> functions, Observation observation, const SourceOptions& options);

  Batch batch(std::uint64_t index) const override;
  Device device() const override { return options_.device; }

 private:
  std::unique_ptr<TaskSource> functions_;
  Observation observation_;
  SourceOptions options_;
};

}  // namespace npzoo
