#include "npzoo/datasets/events/self_correcting.h"

#include <cmath>

#include "npzoo/datasets/events/draw.h"

namespace npzoo {

double SelfCorrecting::log_likelihood(const EventSequence& s, std::int64_t first) const {
  double sum = 0, from = first == 0 ? 0 : s.times[static_cast<std::size_t>(first - 1)];
  for (std::int64_t i = first; i <= s.events(); ++i) {
    const bool is_event = i < s.events();
    const double time = is_event ? s.times[static_cast<std::size_t>(i)] : s.end;
    sum -= std::exp(log_intensity(from, i)) * std::expm1(rate_ * (time - from)) / rate_;
    if (is_event) sum += log_intensity(time, i);
    from = time;
  }
  return sum;
}

std::vector<double> SelfCorrecting::intensities(const EventSequence& s, std::span<const double> times) const {
  std::vector<double> all;
  std::int64_t before = 0;
  for (const double time : times) {
    while (before < s.events() && s.times[static_cast<std::size_t>(before)] < time) ++before;
    all.push_back(std::exp(log_intensity(time, before)));
  }
  return all;
}

EventSequence SelfCorrecting::draw(const SimulatedExtent& extent, Random& random) const {
  EventDrawing drawing(extent);
  std::int64_t events = 0;
  do {
    // exp(c) (exp(μ Δ) − 1) / μ = E, by a form that does not overflow where c is far below 0
    const double a = std::log(exponential(random) * rate_) - log_intensity(drawing.now(), events++);
    const double grown = a > 0 ? a + std::log1p(std::exp(-a)) : std::log1p(std::exp(a));
    if (!drawing.reach(drawing.now() + grown / rate_)) break;
  } while (drawing.add(0));
  return drawing.finish();
}

}  // namespace npzoo
