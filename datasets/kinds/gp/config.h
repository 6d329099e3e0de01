#pragma once

#include <memory>

#include "npzoo/datasets/kinds/gp/distribution.h"
#include "npzoo/datasets/task_config.h"

namespace npzoo {

/// `kind = "gp"`: functions of Gaussian processes. A test has its own kernels and, with `targets`, its own rules for
/// context and targets.
class GpConfig final : public TaskConfig {
 public:
  explicit GpConfig(GpDistribution distribution) : distribution_(std::move(distribution)) {}

  const GpDistribution& distribution() const { return distribution_; }

  std::int64_t dim_x() const override { return distribution_.dims; }
  std::int64_t dim_y() const override { return 1; }
  std::unique_ptr<TaskSource> source(const SourceOptions& options) const override;
  std::shared_ptr<const TaskConfig> with_test_overrides(TomlReader& test) const override;
  TaskExtents typical_extents() const override;
  TrainingRange training_range() const override;
  /// With one input: noise-free targets on a grid over the whole domain.
  Batch picture(std::int64_t tasks, std::uint64_t seed) const override;
  /// The largest context of a ragged batch decides where the targets of all its tasks begin.
  bool batch_size_matters() const override;
  OracleFindings oracle(const OracleOptions& options) const override;

 private:
  GpDistribution distribution_;
};

/// Returns the distribution of the tasks; null if they are not of a Gaussian process.
const GpDistribution* gp_distribution(const TaskConfig& config);

}  // namespace npzoo
