#pragma once

#include <cstdint>

#include "npzoo/datasets/gaussian_processes/truth.h"
#include "npzoo/datasets/kinds/gp/distribution.h"
#include "npzoo/datasets/task_source.h"

namespace npzoo {

struct GpBatch {
  Task task;  // Dy = 1; `lengths` is defined where the distribution is ragged
  GpTruth truth;
};

/// Draws batches of Gaussian-process tasks in double precision. Context points are the leading ones of independent,
/// identically distributed locations, so their order means nothing; rows of a ragged batch are padded with zeros.
///
/// On a CUDA device a batch is the same up to rounding. It is drawn there, without waiting; the host draws the numbers
/// of points and the kernels. A covariance that is not positive definite, for which the CPU throws Error, gives values
/// that are NaN.
class GpSampler final : public TaskSource {
 public:
  /// Throws Error if the distribution cannot be drawn from.
  GpSampler(GpDistribution distribution, const SourceOptions& options);

  Batch batch(std::uint64_t index) const override;
  GpBatch draw(std::uint64_t index) const;

  Device device() const override { return options_.device; }
  const GpDistribution& distribution() const { return distribution_; }

 private:
  GpDistribution distribution_;
  SourceOptions options_;
};

}  // namespace npzoo
