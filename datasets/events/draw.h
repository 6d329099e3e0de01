#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <utility>

#include "npzoo/datasets/events/process.h"
#include "npzoo/engine/error.h"

// Helpers of simulations.

namespace npzoo {

/// With mean 1.
inline double exponential(Random& random) { return -std::log1p(-random.uniform()); }

/// One of some marks, in proportion to intensities whose sum is above 0.
inline std::int64_t draw_mark(std::span<const double> intensities, Random& random) {
  double sum = 0;
  for (const double x : intensities) sum += x;
  double u = sum * random.uniform();
  std::int64_t last = 0;  // that is possible: rounding may leave some of u
  for (std::int64_t k = 0; k < std::ssize(intensities); ++k) {
    const double x = intensities[static_cast<std::size_t>(k)];
    if (x == 0) continue;
    if (u < x) return k;
    u -= x;
    last = k;
  }
  return last;
}

/// The next time of some ascending ones, also where a gap is lost to rounding.
inline double after_last(const std::vector<double>& times, double time) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  return times.empty() ? time : std::max(time, std::nextafter(times.back(), kInfinity));
}

/// A sequence in the making.
class EventDrawing {
 public:
  explicit EventDrawing(const SimulatedExtent& extent) : extent_(extent) {}

  double now() const { return now_; }
  /// False if that is behind the end.
  bool reach(double time) {
    time = after_last(sequence_.times, time);
    if (extent_.end > 0 && time >= extent_.end) return false;
    check(std::isfinite(time), "[events] a simulated time is {}, expected a process whose gaps are finite", time);
    now_ = time;
    return true;
  }
  /// An event now; false if it is the last one.
  bool add(std::int64_t mark) {
    check(sequence_.events() < PointProcess::kMostEvents,
          "[events] a simulation has more than {} events, expected a process and an end that give fewer",
          PointProcess::kMostEvents);
    sequence_.times.push_back(now_);
    sequence_.marks.push_back(mark);
    return extent_.events == 0 || sequence_.events() < extent_.events;
  }
  EventSequence finish() {
    sequence_.end = extent_.end > 0 ? extent_.end : now_;
    return std::move(sequence_);
  }

 private:
  SimulatedExtent extent_;
  double now_ = 0;
  EventSequence sequence_;
};

}  // namespace npzoo
