#pragma once

#include "npzoo/datasets/kinds/synthetic/distribution.h"
#include "npzoo/datasets/kinds/synthetic/places.h"
#include "npzoo/datasets/kinds/synthetic/process.h"
#include "npzoo/datasets/task_source.h"

namespace npzoo {

/// A process with its noise, for a task whose points are at `places`.
Process draw_process(const SyntheticDistribution& d, const Places& places, Random& random);

/// Synthetic tables, standardised by their contexts as `predict` does it. Drawn on the host, in double.
///
/// Values are drawn until the standard deviation of the context is at least `least_std` of the task's or, of values
/// that are clipped or rounded, exactly 0: what is accepted depends on the context alone, so posteriors given a context
/// are what they were, and targets are bounded but for one in many thousands. Those of values that are not Gaussian are
/// at most 2 / `least_std` from the context's mean, in its standard deviations.
class SyntheticSource final : public TaskSource {
 public:
  /// Points up to which functions of several inputs are drawn exactly, see Process::draw; in evaluations all are.
  static constexpr std::int64_t kDense = 96;

  SyntheticSource(SyntheticDistribution distribution, const SourceOptions& options);

  Batch batch(std::uint64_t index) const override;
  Device device() const override { return options_.device; }

 private:
  SyntheticDistribution distribution_;
  SourceOptions options_;
};

}  // namespace npzoo
