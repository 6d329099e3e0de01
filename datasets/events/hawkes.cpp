#include "npzoo/datasets/events/hawkes.h"

#include <cmath>

#include "npzoo/datasets/events/draw.h"

namespace npzoo {

class Hawkes::Past {
 public:
  explicit Past(const Hawkes& process)
      : process_(process), excited_(process.decay_.size()), updated_(process.decay_.size()) {}

  /// Returns the intensity of mark k at `time`, which is not before the last event.
  double intensity(std::int64_t k, double time) {
    double sum = process_.baseline_[static_cast<std::size_t>(k)];
    for (std::int64_t j = 0; j < process_.marks(); ++j)
      sum += process_.excitation_[process_.at(k, j)] * decayed(k, j, time);
    return sum;
  }
  std::vector<double> intensities(double time) {
    std::vector<double> all;
    for (std::int64_t k = 0; k < process_.marks(); ++k) all.push_back(intensity(k, time));
    return all;
  }
  void add(double time, std::int64_t mark) {
    for (std::int64_t k = 0; k < process_.marks(); ++k) {
      decayed(k, mark, time);
      ++excited_[process_.at(k, mark)];
    }
  }

 private:
  /// Σ exp(−β (time − t_i)) over the events i of mark j so far.
  double decayed(std::int64_t k, std::int64_t j, double time) {
    const std::size_t at = process_.at(k, j);
    if (excited_[at] > 0) excited_[at] *= std::exp(-process_.decay_[at] * (time - updated_[at]));
    updated_[at] = time;
    return excited_[at];
  }

  const Hawkes& process_;
  std::vector<double> excited_, updated_;
};

Hawkes::Hawkes(std::vector<double> baseline, std::vector<double> excitation, std::vector<double> decay)
    : baseline_(std::move(baseline)), excitation_(std::move(excitation)), decay_(std::move(decay)) {
  const std::size_t size = baseline_.size() * baseline_.size();
  check(excitation_.size() == size && decay_.size() == size,
        "[events] {} excitations and {} decays found, expected {} of each", excitation_.size(), decay_.size(), size);
}

/// From event `first` − 1, or 0, to the end; no differences of near numbers.
double Hawkes::compensator(const EventSequence& s, std::int64_t first) const {
  const double from = first == 0 ? 0 : s.times[static_cast<std::size_t>(first - 1)];
  double sum = 0;
  for (const double rate : baseline_) sum += rate * (s.end - from);
  for (std::int64_t i = 0; i < s.events(); ++i) {
    const double time = s.times[static_cast<std::size_t>(i)];
    for (std::int64_t k = 0; k < marks(); ++k) {
      const std::size_t pair = at(k, s.marks[static_cast<std::size_t>(i)]);
      const double before = std::max(from - time, 0.0), during = s.end - std::max(from, time);
      sum += excitation_[pair] / decay_[pair] * std::exp(-decay_[pair] * before) * -std::expm1(-decay_[pair] * during);
    }
  }
  return sum;
}

double Hawkes::log_likelihood(const EventSequence& s, std::int64_t first) const {
  Past past(*this);
  double sum = -compensator(s, first);
  for (std::int64_t i = 0; i < s.events(); ++i) {
    const double time = s.times[static_cast<std::size_t>(i)];
    const std::int64_t mark = s.marks[static_cast<std::size_t>(i)];
    if (i >= first) sum += std::log(past.intensity(mark, time));
    past.add(time, mark);
  }
  return sum;
}

std::vector<double> Hawkes::intensities(const EventSequence& s, std::span<const double> times) const {
  Past past(*this);
  std::vector<double> all;
  std::size_t next = 0;
  for (const double time : times) {
    for (; next < s.times.size() && s.times[next] < time; ++next) past.add(s.times[next], s.marks[next]);
    const std::vector<double> now = past.intensities(time);
    all.insert(all.end(), now.begin(), now.end());
  }
  return all;
}

EventSequence Hawkes::draw(const SimulatedExtent& extent, Random& random) const {
  Past past(*this);
  EventDrawing drawing(extent);
  const auto total = [](const std::vector<double>& intensities) {
    double sum = 0;
    for (const double x : intensities) sum += x;
    return sum;
  };
  double bound = total(past.intensities(0));
  while (drawing.reach(drawing.now() + exponential(random) / bound)) {
    const std::vector<double> now = past.intensities(drawing.now());
    const double u = bound * random.uniform();
    bound = total(now);
    if (u >= bound) continue;
    const std::int64_t mark = draw_mark(now, random);
    past.add(drawing.now(), mark);
    if (!drawing.add(mark)) break;
    bound = total(past.intensities(drawing.now()));
  }
  return drawing.finish();
}

}  // namespace npzoo
