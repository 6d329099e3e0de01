#include "npzoo/models/applications/tables/local_cells.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>

#include "npzoo/engine/cancellation.h"
#include "npzoo/engine/parallel.h"

namespace npzoo {

std::vector<double> CellBox::middle() const {
  std::vector<double> middle(low.size());
  for (std::size_t d = 0; d < low.size(); ++d) middle[d] = low[d] + (high[d] - low[d]) / 2;
  return middle;
}

double CellBox::square_of_radius() const {
  double sum = 0;
  for (std::size_t d = 0; d < low.size(); ++d) sum += (high[d] - low[d]) * (high[d] - low[d]) / 4;
  return sum;
}

double CellBox::square_from(std::span<const double> point) const {
  double sum = 0;
  for (std::size_t d = 0; d < low.size(); ++d) {
    const double away = std::max({low[d] - point[d], point[d] - high[d], 0.0});
    sum += away * away;
  }
  return sum;
}

std::size_t CellBox::longest_side() const {
  std::size_t longest = 0;
  for (std::size_t d = 1; d < low.size(); ++d)
    if (high[d] - low[d] > high[longest] - low[longest]) longest = d;
  return longest;
}

namespace {

/// Halves a box along its longest side at `middle`; false if rounding does not let it be halved.
bool can_be_halved(const CellBox& box, std::size_t side, double middle) {
  return box.low[side] < middle && middle < box.high[side];
}

/// The part of the longest side's halves that holds a point.
bool is_above(double coordinate, double middle) { return !(coordinate < middle); }

/// Leaves the lower half in `cell`. Returns false if it cannot be halved.
bool halve(const ObservedPlaces& places, std::span<const double> targets, LocalCell& cell,
           std::optional<LocalCell>& upper) {
  const std::size_t side = cell.box.longest_side();
  const double middle = cell.box.middle()[side];
  if (!can_be_halved(cell.box, side, middle)) return false;
  const auto above = std::stable_partition(cell.targets.begin(), cell.targets.end(), [&](std::int64_t row) {
    return !is_above(places.scaled(targets[static_cast<std::size_t>(row) * places.width() + side], side), middle);
  });
  if (above != cell.targets.end()) {
    upper.emplace(LocalCell{cell.box, {above, cell.targets.end()}});
    upper->box.low[side] = middle;
  }
  cell.targets.erase(above, cell.targets.end());
  cell.box.high[side] = middle;
  return true;
}

}  // namespace

LocalCells::LocalCells(const ObservedPlaces& places, const CellLimits& limits) : places_(places), limits_(limits) {
  constexpr int kSteps = 4;
  double best = 0, least = std::numeric_limits<double>::infinity();
  for (int i = 0; i < kSteps; ++i) {
    half_ = std::exp2(static_cast<double>(i) / kSteps - 1);
    const double found = cost();
    if (found < least) {
      least = found;
      best = half_;
    }
  }
  half_ = best > 0 ? best : 0.5;
}

/// The number of cells by a sample of places: each stands for one over the volume of its cell.
double LocalCells::cost() const {
  constexpr std::size_t kSample = 64;
  std::vector<ObservedPlaces::Index> near;  // places that are not far from all others
  for (ObservedPlaces::Index p = 0; p < places_.count(); ++p)
    if (std::ranges::all_of(places_.at(p), [](double x) { return 0 <= x && x <= 1; })) near.push_back(p);
  const std::size_t step = std::max<std::size_t>(1, near.size() / kSample);
  double sum = 0;
  for (std::size_t i = step / 2; i < near.size(); i += step) {
    throw_if_stopped();
    const auto at = places_.at(near[i]);
    CellBox cell = box(0);
    double inverse = 1;
    while (!small_enough(cell)) {
      const std::size_t side = cell.longest_side();
      const double middle = cell.middle()[side];
      if (!can_be_halved(cell, side, middle)) break;
      (is_above(at[side], middle) ? cell.low : cell.high)[side] = middle;
      inverse *= 2;
    }
    sum += inverse / std::pow(half_, static_cast<double>(places_.width()));
  }
  return sum;
}

/// How often the first box has to be doubled to hold a point.
std::size_t LocalCells::doublings(std::span<const double> scaled) const {
  double away = 0;  // from the middle, in half lengths of the box
  for (std::size_t d = 0; d < scaled.size(); ++d)
    if (places_.extent(d) > 0) away = std::max(away, std::abs(scaled[d] - 0.5) / half_);
  if (away <= 1) return 0;
  int exponent = 0;
  return static_cast<std::size_t>(std::frexp(away, &exponent) == 0.5 ? exponent - 1 : exponent);
}

CellBox LocalCells::box(std::size_t doublings) const {
  CellBox box;
  for (std::size_t d = 0; d < places_.width(); ++d) {
    const double half = places_.extent(d) > 0 ? std::ldexp(half_, static_cast<int>(doublings)) : 0;
    box.low.push_back(places_.extent(d) / 2 - half);
    box.high.push_back(places_.extent(d) / 2 + half);
  }
  return box;
}

bool LocalCells::small_enough(const CellBox& box) const {
  const std::vector<double> middle = box.middle();
  const double radius = std::sqrt(box.square_of_radius());
  return !places_.more_within(middle, radius, limits_.most, limits_.of_a_place) &&
         !places_.more_within(middle, radius * limits_.reach, limits_.pool, 1);
}

std::vector<LocalCell> LocalCells::of(std::span<const double> targets) const {
  const std::size_t width = places_.width();
  std::map<std::size_t, LocalCell> boxes;
  std::vector<double> scaled(width);
  for (std::size_t row = 0; row < targets.size() / width; ++row) {
    for (std::size_t d = 0; d < width; ++d) scaled[d] = places_.scaled(targets[row * width + d], d);
    const std::size_t k = doublings(scaled);
    const auto [at, is_new] = boxes.try_emplace(k);
    if (is_new) at->second.box = box(k);
    at->second.targets.push_back(static_cast<std::int64_t>(row));
  }
  std::vector<LocalCell> open, cells;
  for (auto& [k, box] : boxes) open.push_back(std::move(box));
  while (!open.empty()) {
    std::vector<std::optional<LocalCell>> others(open.size());
    std::vector<char> small(open.size());
    thread_pool().for_range(std::ssize(open), 8, [&](std::int64_t begin, std::int64_t end) {
      for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
        throw_if_stopped();
        small[i] = small_enough(open[i].box) || !halve(places_, targets, open[i], others[i]);
      }
    });
    std::vector<LocalCell> next;
    for (std::size_t i = 0; i < open.size(); ++i) {
      if (small[i])
        cells.push_back(std::move(open[i]));
      else if (!open[i].targets.empty())
        next.push_back(std::move(open[i]));
      if (others[i]) next.push_back(std::move(*others[i]));
    }
    open = std::move(next);
  }
  std::ranges::sort(cells, {}, [](const LocalCell& cell) { return cell.targets.front(); });
  return cells;
}

}  // namespace npzoo
