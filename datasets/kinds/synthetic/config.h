#pragma once

#include <memory>

#include "npzoo/datasets/kinds/synthetic/distribution.h"
#include "npzoo/datasets/task_config.h"

namespace npzoo {

/// Returns the range that standardisation uses, and beyond which `predict` warns.
TrainingRange synthetic_range(const SyntheticDistribution& d);

/// `kind = "synthetic"`: tables as real ones are. A test may change any key.
class SyntheticConfig final : public TaskConfig {
 public:
  explicit SyntheticConfig(const SyntheticDistribution& distribution) : distribution_(distribution) {}

  const SyntheticDistribution& distribution() const { return distribution_; }

  std::int64_t dim_x() const override { return distribution_.dims; }
  std::int64_t dim_y() const override { return 1; }
  std::unique_ptr<TaskSource> source(const SourceOptions& options) const override;
  std::shared_ptr<const TaskConfig> with_test_overrides(TomlReader& test) const override;
  TaskExtents typical_extents() const override;
  TrainingRange training_range() const override { return synthetic_range(distribution_); }
  Application application() const override { return Application::tables; }
  /// Without targets outside of the context's range.
  Batch picture(std::int64_t tasks, std::uint64_t seed) const override;

 private:
  SyntheticDistribution distribution_;
};

}  // namespace npzoo
