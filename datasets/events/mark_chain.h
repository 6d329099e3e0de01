#pragma once

#include <memory>
#include <vector>

#include "npzoo/datasets/events/process.h"

namespace npzoo {

/// Times of a process of one mark, with marks of a Markov chain that knows nothing of the times.
class MarkChain final : public PointProcess {
 public:
  /// `first` (M) is the distribution of the first mark, row j of `next` (M, M) that of the mark after j. Throws Error
  /// for a process of several marks and for rows that do not add up to 1.
  MarkChain(std::shared_ptr<const PointProcess> times, std::vector<double> first, std::vector<double> next);

  std::string name() const override { return times_->name() + " with a chain of marks"; }
  std::int64_t marks() const override { return std::ssize(first_); }
  double log_likelihood(const EventSequence& sequence, std::int64_t first) const override;
  std::vector<double> intensities(const EventSequence& sequence, std::span<const double> times) const override;
  EventSequence draw(const SimulatedExtent& extent, Random& random) const override;

 private:
  /// The distribution of the mark of event number `event`.
  std::span<const double> of_event(const EventSequence& sequence, std::size_t event) const;

  std::shared_ptr<const PointProcess> times_;
  std::vector<double> first_, next_;
};

}  // namespace npzoo
