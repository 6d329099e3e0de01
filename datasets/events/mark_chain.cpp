#include "npzoo/datasets/events/mark_chain.h"

#include <cmath>
#include <numeric>

#include "npzoo/datasets/events/draw.h"

namespace npzoo {

namespace {

EventSequence without_marks(EventSequence sequence) {
  sequence.marks.assign(sequence.marks.size(), 0);
  return sequence;
}

bool adds_up_to_one(std::span<const double> row) {
  constexpr double kRounding = 1e-9;
  return std::abs(std::accumulate(row.begin(), row.end(), 0.0) - 1) < kRounding;
}

}  // namespace

MarkChain::MarkChain(std::shared_ptr<const PointProcess> times, std::vector<double> first, std::vector<double> next)
    : times_(std::move(times)), first_(std::move(first)), next_(std::move(next)) {
  const std::size_t kinds = first_.size();
  check(times_->marks() == 1, "[events] a process of {} marks found, expected one of one mark", times_->marks());
  bool sums = kinds > 0 && next_.size() == kinds * kinds && adds_up_to_one(first_);
  for (std::size_t j = 0; sums && j < kinds; ++j) sums = adds_up_to_one(std::span(next_).subspan(j * kinds, kinds));
  check(sums, "[events] a chain with {} and {} probabilities found, expected M and M · M that add up to 1 in each row",
        first_.size(), next_.size());
}

std::span<const double> MarkChain::of_event(const EventSequence& sequence, std::size_t event) const {
  if (event == 0) return first_;
  return std::span(next_).subspan(static_cast<std::size_t>(sequence.marks[event - 1]) * first_.size(), first_.size());
}

double MarkChain::log_likelihood(const EventSequence& sequence, std::int64_t first) const {
  double sum = times_->log_likelihood(without_marks(sequence), first);
  for (auto i = static_cast<std::size_t>(first); i < sequence.marks.size(); ++i)
    sum += std::log(of_event(sequence, i)[static_cast<std::size_t>(sequence.marks[i])]);
  return sum;
}

std::vector<double> MarkChain::intensities(const EventSequence& sequence, std::span<const double> times) const {
  std::vector<double> all;
  std::size_t before = 0, i = 0;
  for (const double rate : times_->intensities(without_marks(sequence), times)) {
    while (before < sequence.times.size() && sequence.times[before] < times[i]) ++before;
    for (const double probability : of_event(sequence, before)) all.push_back(rate * probability);
    ++i;
  }
  return all;
}

EventSequence MarkChain::draw(const SimulatedExtent& extent, Random& random) const {
  EventSequence drawn = times_->draw(extent, random);
  for (std::size_t i = 0; i < drawn.marks.size(); ++i) drawn.marks[i] = draw_mark(of_event(drawn, i), random);
  return drawn;
}

}  // namespace npzoo
