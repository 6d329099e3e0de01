#include "npzoo/datasets/events/time_change.h"

#include <algorithm>
#include <cmath>

#include "npzoo/datasets/events/clock_poisson.h"
#include "npzoo/datasets/events/draw.h"
#include "npzoo/engine/error.h"

namespace npzoo {

TimeChange::TimeChange(std::shared_ptr<const PointProcess> process, double period, std::vector<double> speeds)
    : process_(std::move(process)), period_(period), speeds_(std::move(speeds)) {
  check(period > 0 && std::isfinite(period) && !speeds_.empty() &&
            std::ranges::all_of(speeds_, [](double x) { return x > 0 && std::isfinite(x); }),
        "[events] a period of {} with {} speeds found, expected numbers above 0 and one speed or more", period,
        speeds_.size());
  double sum = 0;
  for (const double speed : speeds_) sums_.push_back(sum += speed * period_ / static_cast<double>(speeds_.size()));
}

std::size_t TimeChange::part_at(double time) const {
  return static_cast<std::size_t>(ClockPoisson::part_at(time, period_, std::ssize(speeds_)));
}

double TimeChange::own_time(double time) const {
  const double cycles = std::floor(time / period_);
  const std::size_t part = part_at(time);
  const double end = static_cast<double>(part + 1) * period_ / static_cast<double>(speeds_.size());
  return cycles * sums_.back() + sums_[part] - speeds_[part] * (end - (time - cycles * period_));
}

double TimeChange::table_time(double own) const {
  const double cycles = std::floor(own / sums_.back()), rest = own - cycles * sums_.back();
  const std::size_t part = std::min<std::size_t>(
      static_cast<std::size_t>(std::ranges::lower_bound(sums_, rest) - sums_.begin()), speeds_.size() - 1);
  const double end = static_cast<double>(part + 1) * period_ / static_cast<double>(speeds_.size());
  return cycles * period_ + end - (sums_[part] - rest) / speeds_[part];
}

EventSequence TimeChange::on_own_clock(const EventSequence& sequence) const {
  EventSequence own{.times = {}, .marks = sequence.marks};
  for (const double time : sequence.times) own.times.push_back(after_last(own.times, own_time(time)));
  own.end = after_last(own.times, own_time(sequence.end));
  if (!own.times.empty() && sequence.end == sequence.times.back()) own.end = own.times.back();
  return own;
}

double TimeChange::log_likelihood(const EventSequence& sequence, std::int64_t first) const {
  double sum = process_->log_likelihood(on_own_clock(sequence), first);
  for (auto i = static_cast<std::size_t>(first); i < sequence.times.size(); ++i)
    sum += std::log(speeds_[part_at(sequence.times[i])]);
  return sum;
}

std::vector<double> TimeChange::intensities(const EventSequence& sequence, std::span<const double> times) const {
  std::vector<double> own(times.begin(), times.end());
  for (double& time : own) time = own_time(time);
  std::vector<double> all = process_->intensities(on_own_clock(sequence), own);
  const auto kinds = static_cast<std::size_t>(marks());
  for (std::size_t i = 0; i < all.size(); ++i) all[i] *= speeds_[part_at(times[i / kinds])];
  return all;
}

EventSequence TimeChange::draw(const SimulatedExtent& extent, Random& random) const {
  EventSequence own =
      process_->draw({.end = extent.end > 0 ? own_time(extent.end) : 0, .events = extent.events}, random);
  EventSequence drawn{.times = {}, .marks = std::move(own.marks)};
  for (const double time : own.times) drawn.times.push_back(after_last(drawn.times, table_time(time)));
  drawn.end = extent.end > 0 ? extent.end : drawn.times.empty() ? 0 : drawn.times.back();
  return drawn;
}

}  // namespace npzoo
