#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace npzoo {

/// True if `empty` places or more may be without a value by chance, where `expected` are on average (Poisson).
bool empty_by_chance(double empty, double expected);

/// The places of a season of a series: its steps modulo a period of at least one step, rounded down.
class SeasonPlaces {
 public:
  /// `y` has NaN for missing values.
  SeasonPlaces(std::span<const double> y, double period);

  /// True if some place has no value. A season that is fitted to the values is free there.
  bool any_empty() const;
  /// True if some place has no value, and not by chance.
  bool any_closed() const { return any_empty() && !by_chance_; }
  /// True if the place of this step has no value, although it had chances enough that its values are not missing by
  /// chance.
  bool never_has_value(double step) const;

 private:
  struct Count {
    double steps = 0, values = 0;
  };
  std::size_t place(double step) const;

  double period_;
  std::vector<Count> counts_;
  bool by_chance_ = false;  // places may be empty by chance
};

}  // namespace npzoo
