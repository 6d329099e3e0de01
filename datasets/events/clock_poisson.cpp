#include "npzoo/datasets/events/clock_poisson.h"

#include <algorithm>
#include <cmath>

#include "npzoo/datasets/events/draw.h"

namespace npzoo {

ClockPoisson::ClockPoisson(double period, std::int64_t parts, std::vector<double> rates)
    : period_(period), parts_(parts), rates_(std::move(rates)) {
  check(period > 0 && parts >= 1 && !rates_.empty() && std::ssize(rates_) % parts == 0,
        "[events] a period of {} with {} parts and {} rates found, expected numbers above 0 and rates for each part",
        period, parts, rates_.size());
}

std::int64_t ClockPoisson::part_at(double time, double period, std::int64_t parts) {
  const double share = time / period - std::floor(time / period);
  return std::min(static_cast<std::int64_t>(share * static_cast<double>(parts)), parts - 1);
}

std::vector<double> ClockPoisson::exposure(double time, double period, std::int64_t parts) {
  const double width = period / static_cast<double>(parts), cycles = std::floor(time / period),
               rest = time - cycles * period;
  std::vector<double> all;
  for (std::int64_t p = 0; p < parts; ++p)
    all.push_back(cycles * width + std::clamp(rest - static_cast<double>(p) * width, 0.0, width));
  return all;
}

std::vector<double> ClockPoisson::at(double time) const {
  std::vector<double> now;
  const std::int64_t part = part_at(time, period_, parts_);
  for (std::int64_t k = 0; k < marks(); ++k) now.push_back(rates_[static_cast<std::size_t>(k * parts_ + part)]);
  return now;
}

double ClockPoisson::log_likelihood(const EventSequence& s, std::int64_t first) const {
  const double from = first == 0 ? 0 : s.times[static_cast<std::size_t>(first - 1)];
  const std::vector<double> until_end = exposure(s.end, period_, parts_), until_from = exposure(from, period_, parts_);
  double sum = 0;
  for (std::size_t i = 0; i < rates_.size(); ++i) {
    const std::size_t part = i % static_cast<std::size_t>(parts_);
    sum -= rates_[i] * (until_end[part] - until_from[part]);
  }
  for (auto i = static_cast<std::size_t>(first); i < s.marks.size(); ++i)
    sum += std::log(rates_[static_cast<std::size_t>(s.marks[i] * parts_ + part_at(s.times[i], period_, parts_))]);
  return sum;
}

std::vector<double> ClockPoisson::intensities(const EventSequence& /*sequence*/, std::span<const double> times) const {
  std::vector<double> all;
  for (const double time : times) {
    const std::vector<double> now = at(time);
    all.insert(all.end(), now.begin(), now.end());
  }
  return all;
}

EventSequence ClockPoisson::draw(const SimulatedExtent& extent, Random& random) const {
  double bound = 0;
  for (std::int64_t k = 0; k < marks(); ++k)
    bound += *std::max_element(rates_.begin() + k * parts_, rates_.begin() + (k + 1) * parts_);
  EventDrawing drawing(extent);
  while (drawing.reach(drawing.now() + exponential(random) / bound)) {
    const std::vector<double> now = at(drawing.now());
    double total = 0;
    for (const double rate : now) total += rate;
    if (bound * random.uniform() >= total) continue;
    if (!drawing.add(draw_mark(now, random))) break;
  }
  return drawing.finish();
}

}  // namespace npzoo
