#pragma once

#include "npzoo/datasets/events/process.h"

namespace npzoo {

/// See read_process.
class SelfCorrecting final : public PointProcess {
 public:
  SelfCorrecting(double rate, double correction) : rate_(rate), correction_(correction) {}

  std::string name() const override { return "self-correcting"; }
  double log_likelihood(const EventSequence& sequence, std::int64_t first) const override;
  std::vector<double> intensities(const EventSequence& sequence, std::span<const double> times) const override;
  /// By inversion of the compensator.
  EventSequence draw(const SimulatedExtent& extent, Random& random) const override;

 private:
  double log_intensity(double time, std::int64_t events) const {
    return rate_ * time - correction_ * static_cast<double>(events);
  }

  double rate_, correction_;
};

}  // namespace npzoo
