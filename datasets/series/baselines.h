#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "npzoo/datasets/series/windows.h"

namespace npzoo {

// Forecasts that need no training, or next to none, in the units of the values. They are given those of places in their
// order, NaN where unknown; of the last known ones they say what comes behind.

/// The last known value, whatever the horizon. NaN if there is none.
std::vector<double> persistence(std::span<const double> y, std::int64_t horizon);
/// The last known value at the same place of a season of `period` places, 1 or more; if there is none, persistence.
std::vector<double> seasonal_naive(std::span<const double> y, std::int64_t horizon, std::int64_t period);
/// The straight line through the first and the last known value, from the latter on.
std::vector<double> drift(std::span<const double> y, std::int64_t horizon);

/// Returns the last known value before each of those from `begin` on: persistence one step ahead, given the true values
/// of all steps before. (y.size() − begin)
std::vector<double> persistence_one_step(std::span<const double> y, std::int64_t begin);

/// Returns the places of a day if they are parts of one, of a week if they are days, of a year if they are months or
/// several months; else 1.
std::int64_t season_of(const TimeSeries& series);

/// Additive Holt-Winters exponential smoothing (Winters, "Forecasting sales by exponentially weighted moving averages",
/// Management Science 6, 1960): with e = y − (l + b + s), level l ← l + b + α e, trend b ← b + α β e, season of that
/// place s ← s + γ (1 − α) e. What is unknown changes level by trend alone. It begins at the first known value without
/// trend and season.
struct HoltWinters {
  double alpha = 0, beta = 0, gamma = 0;  // 0 … 1
  std::int64_t period = 1;                // 1: no season

  /// The one with the least squared errors over `horizon` places behind some hundred of `y`, by a search among
  /// multiples of 1/1024.
  static HoltWinters fit(std::span<const double> y, std::int64_t period, std::int64_t horizon);
};

/// Goes along values and says what comes behind any of them.
class HoltWintersPath {
 public:
  HoltWintersPath(const HoltWinters& parameters, std::span<const double> y);

  /// Forecasts the values after the first `begin`, at least one of which is known.
  std::vector<double> forecast(std::int64_t begin, std::int64_t horizon) const;
  /// Mean squared error of known values among `horizon` behind each of some hundred places of `y`, those of the path.
  double mse(std::span<const double> y, std::int64_t horizon) const;
  /// Mean squared error one step ahead, of known values but the first.
  double one_step_mse() const { return one_step_mse_; }

 private:
  std::int64_t period_;
  std::vector<double> level_, trend_, season_;  // after each value
  double one_step_mse_ = 0;
};

}  // namespace npzoo
