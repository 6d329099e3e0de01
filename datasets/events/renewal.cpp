#include "npzoo/datasets/events/renewal.h"

#include <cmath>

#include "npzoo/datasets/events/draw.h"

namespace npzoo {

double Renewal::log_likelihood(const EventSequence& s, std::int64_t first) const {
  double sum = 0, from = first == 0 ? 0 : s.times[static_cast<std::size_t>(first - 1)];
  for (auto i = static_cast<std::size_t>(first); i < s.times.size(); ++i) {
    sum += gaps_.log_density(s.times[i] - from);
    from = s.times[i];
  }
  return sum + gaps_.log_survival(s.end - from);
}

std::vector<double> Renewal::intensities(const EventSequence& s, std::span<const double> times) const {
  std::vector<double> all;
  std::size_t before = 0;
  for (const double time : times) {
    while (before < s.times.size() && s.times[before] < time) ++before;
    const double gap = time - (before == 0 ? 0 : s.times[before - 1]);
    all.push_back(std::exp(gaps_.log_density(gap) - gaps_.log_survival(gap)));
  }
  return all;
}

EventSequence Renewal::draw(const SimulatedExtent& extent, Random& random) const {
  EventDrawing drawing(extent);
  do {
    if (!drawing.reach(drawing.now() + gaps_.draw(random))) break;
  } while (drawing.add(0));
  return drawing.finish();
}

}  // namespace npzoo
