#pragma once

#include "npzoo/datasets/events/gap_distribution.h"
#include "npzoo/datasets/events/process.h"

namespace npzoo {

/// See read_process. The first event's gap, from time 0 on, is as the others are.
class Renewal final : public PointProcess {
 public:
  explicit Renewal(const GapDistribution& gaps) : gaps_(gaps) {}

  std::string name() const override { return "renewal"; }
  double log_likelihood(const EventSequence& sequence, std::int64_t first) const override;
  std::vector<double> intensities(const EventSequence& sequence, std::span<const double> times) const override;
  EventSequence draw(const SimulatedExtent& extent, Random& random) const override;

 private:
  GapDistribution gaps_;
};

}  // namespace npzoo
