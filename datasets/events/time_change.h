#pragma once

#include <memory>
#include <vector>

#include "npzoo/datasets/events/process.h"

namespace npzoo {

/// A process on a clock of its own: time t of the sequences is time Λ(t) of the process, where Λ grows at a rate that
/// repeats. So an intensity λ(s) becomes λ(Λ(t)) Λ'(t). One part is a change of the unit of time.
class TimeChange final : public PointProcess {
 public:
  /// The `speeds`, above 0, are Λ' in equal parts of a period above 0. Throws Error for others.
  TimeChange(std::shared_ptr<const PointProcess> process, double period, std::vector<double> speeds);

  std::string name() const override { return process_->name() + ", on a clock"; }
  std::int64_t marks() const override { return process_->marks(); }
  double log_likelihood(const EventSequence& sequence, std::int64_t first) const override;
  std::vector<double> intensities(const EventSequence& sequence, std::span<const double> times) const override;
  EventSequence draw(const SimulatedExtent& extent, Random& random) const override;

 private:
  std::size_t part_at(double time) const;
  double own_time(double time) const;   // Λ
  double table_time(double own) const;  // Λ⁻¹
  EventSequence on_own_clock(const EventSequence& sequence) const;

  std::shared_ptr<const PointProcess> process_;
  double period_;
  std::vector<double> speeds_;
  std::vector<double> sums_;  // Λ at the ends of the parts of the first period
};

}  // namespace npzoo
