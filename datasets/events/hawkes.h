#pragma once

#include "npzoo/datasets/events/process.h"

namespace npzoo {

/// See read_process. The density takes time linear in the events times the marks: what the past adds to the intensity
/// of mark k by events of mark j is one number, decayed when it is wanted.
class Hawkes final : public PointProcess {
 public:
  /// excitation and decay are (M, M), row k of what excites mark k; decays are above 0, all else 0 or more.
  Hawkes(std::vector<double> baseline, std::vector<double> excitation, std::vector<double> decay);

  std::string name() const override { return "Hawkes"; }
  std::int64_t marks() const override { return std::ssize(baseline_); }
  double log_likelihood(const EventSequence& sequence, std::int64_t first) const override;
  std::vector<double> intensities(const EventSequence& sequence, std::span<const double> times) const override;
  /// By thinning (Ogata, "On Lewis' simulation method for point processes", 1981): intensities fall between events.
  EventSequence draw(const SimulatedExtent& extent, Random& random) const override;

 private:
  /// Excitation of each mark by each, at a time that moves on.
  class Past;

  std::size_t at(std::int64_t k, std::int64_t j) const { return static_cast<std::size_t>(k * marks() + j); }
  double compensator(const EventSequence& sequence, std::int64_t first) const;

  std::vector<double> baseline_, excitation_, decay_;
};

}  // namespace npzoo
