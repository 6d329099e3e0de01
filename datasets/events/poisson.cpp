#include <algorithm>
#include <cmath>
#include <numeric>

#include "npzoo/datasets/events/draw.h"
#include "npzoo/datasets/events/process.h"

namespace npzoo {

Poisson::Poisson(std::vector<double> rates) : rates_(std::move(rates)) {}

std::shared_ptr<const Poisson> Poisson::fitted(std::span<const EventSequence> sequences, std::int64_t marks) {
  constexpr double kUnseen = 0.5;
  std::vector<double> counts(static_cast<std::size_t>(marks));
  double observed = 0;
  for (const EventSequence& sequence : sequences) {
    for (const std::int64_t mark : sequence.marks) ++counts[static_cast<std::size_t>(mark)];
    observed += sequence.end;
  }
  check(observed > 0, "[events] an observed time of 0 found, expected a longer one to fit rates to");
  for (double& count : counts) count = std::max(count, kUnseen) / observed;
  return std::make_shared<const Poisson>(std::move(counts));
}

double Poisson::log_likelihood(const EventSequence& s, std::int64_t first) const {
  const double from = first == 0 ? 0 : s.times[static_cast<std::size_t>(first - 1)];
  double sum = -std::accumulate(rates_.begin(), rates_.end(), 0.0) * (s.end - from);
  for (auto i = static_cast<std::size_t>(first); i < s.marks.size(); ++i)
    sum += std::log(rates_[static_cast<std::size_t>(s.marks[i])]);
  return sum;
}

std::vector<double> Poisson::intensities(const EventSequence& /*sequence*/, std::span<const double> times) const {
  std::vector<double> all;
  for (std::size_t i = 0; i < times.size(); ++i) all.insert(all.end(), rates_.begin(), rates_.end());
  return all;
}

EventSequence Poisson::draw(const SimulatedExtent& extent, Random& random) const {
  const double total = std::accumulate(rates_.begin(), rates_.end(), 0.0);
  EventDrawing drawing(extent);
  do {
    if (!drawing.reach(drawing.now() + exponential(random) / total)) break;
  } while (drawing.add(draw_mark(rates_, random)));
  return drawing.finish();
}

}  // namespace npzoo
