#pragma once

#include "npzoo/datasets/events/process.h"

namespace npzoo {

/// A Poisson process whose rates repeat: see read_process. A period has equal parts, each with a rate of every mark.
class ClockPoisson final : public PointProcess {
 public:
  /// `rates` is (M, parts), 0 or more.
  ClockPoisson(double period, std::int64_t parts, std::vector<double> rates);

  std::string name() const override { return "clock Poisson"; }
  std::int64_t marks() const override { return std::ssize(rates_) / parts_; }
  double log_likelihood(const EventSequence& sequence, std::int64_t first) const override;
  std::vector<double> intensities(const EventSequence& sequence, std::span<const double> times) const override;
  /// By thinning.
  EventSequence draw(const SimulatedExtent& extent, Random& random) const override;

  /// The number of the part of the period at a time.
  static std::int64_t part_at(double time, double period, std::int64_t parts);
  /// How long each part lasts from 0 to `time`: (parts).
  static std::vector<double> exposure(double time, double period, std::int64_t parts);

 private:
  std::vector<double> at(double time) const;

  double period_;
  std::int64_t parts_;
  std::vector<double> rates_;
};

}  // namespace npzoo
