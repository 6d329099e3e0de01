#include "npzoo/models/applications/optimise/beliefs.h"

#include <algorithm>

#include "npzoo/engine/cancellation.h"

namespace npzoo {

namespace {

constexpr std::int64_t kLineSteps = 200;
constexpr std::size_t kMapCells = 64;     // along each axis
constexpr std::size_t kRowsTogether = 8;  // of a map

/// Beliefs of one surrogate at points of the unit cube.
class BeliefReader {
 public:
  BeliefReader(const SearchSpace& space, const Observations& seen, const Surrogate& surrogate,
               const Acquisition& acquisition, bool maximise)
      : space_(space), surrogate_(surrogate), acquisition_(acquisition), sign_(maximise ? -1 : 1) {
    const auto best = std::ranges::min_element(seen.y) - seen.y.begin();
    best_value_ = seen.y[static_cast<std::size_t>(best)];
    best_point_.assign(seen.x.begin() + best * seen.dims, seen.x.begin() + (best + 1) * seen.dims);
  }

  BeliefLine line(std::int64_t d) const {
    const auto at = static_cast<std::size_t>(d);
    BeliefLine line{.axis = space_.axis_of(d), .at = {}, .values = {}};
    std::vector<double> x, point = best_point_;
    const std::int64_t choices = std::ssize(space_.input(d).choices), last = choices > 0 ? choices - 1 : kLineSteps;
    for (std::int64_t i = 0; i <= last; ++i) {
      point[at] = choices > 0 ? (static_cast<double>(i) + 0.5) / static_cast<double>(choices)
                              : static_cast<double>(i) / kLineSteps;
      x.insert(x.end(), point.begin(), point.end());
      line.at.push_back(space_.place(d, point[at]));
    }
    add(x, line.values);
    return line;
  }

  BeliefMap map(std::int64_t across, std::int64_t up) const {
    const auto middle = [](std::size_t cell) { return (static_cast<double>(cell) + 0.5) / kMapCells; };
    BeliefMap map{space_.axis_of(across), space_.axis_of(up), {}, {}, {}};
    std::vector<double> x, point = space_.nearest(best_point_);
    for (std::size_t row = 0; row < kMapCells; ++row) {
      map.columns.push_back(space_.place(across, middle(row)));
      map.rows.push_back(space_.place(up, middle(row)));
      for (std::size_t column = 0; column < kMapCells; ++column) {
        point[static_cast<std::size_t>(across)] = middle(column);
        point[static_cast<std::size_t>(up)] = middle(row);
        x.insert(x.end(), point.begin(), point.end());
      }
      if ((row + 1) % kRowsTogether != 0) continue;
      add(x, map.values);
      x.clear();
    }
    return map;
  }

 private:
  void add(std::span<const double> x, BeliefValues& to) const {
    throw_if_stopped();
    const Belief belief = surrogate_.believe(x);
    const std::span best(&best_value_, 1);
    const BeliefMoments moments = moments_of(belief);
    const std::vector<double> worth = acquire(acquisition_, belief, best);
    for (const double mean : moments.mean) to.mean.push_back(sign_ * mean);
    to.std.insert(to.std.end(), moments.std.begin(), moments.std.end());
    to.acquisition.insert(to.acquisition.end(), worth.begin(), worth.end());
  }

  const SearchSpace& space_;
  const Surrogate& surrogate_;
  const Acquisition& acquisition_;
  double sign_, best_value_ = 0;
  std::vector<double> best_point_;
};

}  // namespace

Beliefs describe_beliefs(const SearchSpace& space, const Observations& seen, const Surrogate& surrogate,
                         const Acquisition& acquisition, bool maximise) {
  const BeliefReader reader(space, seen, surrogate, acquisition, maximise);
  Beliefs beliefs{.surrogate = surrogate.name(), .acquisition = acquisition.kind, .points = {}, .values = {}};
  std::vector<std::int64_t> free;
  for (std::int64_t d = 0; d < space.dims(); ++d)
    if (!space.is_held(d)) free.push_back(d);
  if (free.size() == 2 && !space.has_categories()) {
    beliefs.map = reader.map(free[0], free[1]);
  } else {
    for (std::int64_t d = 0; d < space.dims(); ++d) beliefs.lines.push_back(reader.line(d));
  }
  for (std::size_t i = 0; i < seen.y.size(); ++i) {
    const auto dims = static_cast<std::size_t>(seen.dims);
    const std::vector<double> point = space.places(std::span(seen.x).subspan(i * dims, dims));
    beliefs.points.insert(beliefs.points.end(), point.begin(), point.end());
  }
  return beliefs;
}

}  // namespace npzoo
