#include "npzoo/datasets/series/season_places.h"

#include <algorithm>
#include <cmath>

namespace npzoo {

bool empty_by_chance(double empty, double expected) {
  constexpr double kUnlikely = 1e-3;
  if (empty == 0 || expected == 0) return empty == 0;
  return empty * std::log(expected) - std::lgamma(empty + 1) > std::log(kUnlikely) || expected >= empty;
}

SeasonPlaces::SeasonPlaces(std::span<const double> y, double period)
    : period_(period), counts_(static_cast<std::size_t>(std::max(1.0, std::floor(period + 1e-9)))) {
  for (std::size_t t = 0; t < y.size(); ++t) {
    Count& count = counts_[place(static_cast<double>(t))];
    ++count.steps;
    count.values += std::isnan(y[t]) ? 0 : 1;
  }
  double steps = 0, values = 0;
  for (const Count& count : counts_) {
    if (count.values == 0) continue;
    steps += count.steps;
    values += count.values;
  }
  const double missing = steps > 0 ? 1 - values / steps : 1;
  double expected = 0, empty = 0;
  for (const Count& count : counts_) {
    expected += std::pow(missing, count.steps);
    empty += count.values == 0 ? 1 : 0;
  }
  by_chance_ = empty_by_chance(empty, expected);
}

std::size_t SeasonPlaces::place(double step) const {
  return std::min(counts_.size() - 1, static_cast<std::size_t>(std::fmod(step, period_)));
}

bool SeasonPlaces::any_empty() const {
  return std::ranges::any_of(counts_, [](const Count& count) { return count.values == 0; });
}

bool SeasonPlaces::never_has_value(double step) const {
  constexpr double kFewestChances = 2;
  const Count& count = counts_[place(step)];
  return !by_chance_ && count.values == 0 && count.steps >= kFewestChances;
}

}  // namespace npzoo
