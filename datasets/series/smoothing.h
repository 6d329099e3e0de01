#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "npzoo/engine/random.h"

namespace npzoo {

/// A Gaussian for each place behind a series.
struct GaussianPath {
  std::vector<double> mean, std;
};

/// Additive exponential smoothing with a trend and a season that changes, in innovations form (Hyndman, Koehler,
/// Ord and Snyder, "Forecasting with Exponential Smoothing", 2008, chapters 3 and 6): with e = y − (l + φ b + s),
/// l ← l + φ b + α e, b ← φ b + α β e and season of that place s ← s + γ e.
class ExponentialSmoothing {
 public:
  /// `none`: no trend. `fixed`: a constant slope. `local`: a slope that is smoothed. `damped`: a smoothed slope that
  /// decays (φ < 1).
  enum class Trend : std::uint8_t { none, fixed, local, damped };
  struct Form {
    Trend trend = Trend::none;
    std::int64_t period = 1;  // 1: no season. It begins at 0, so `y` must come without its mean season
    bool relative = false;    // errors grow with the level, which must be positive
  };

  /// Fits level, trend and smoothing by maximum likelihood (Nelder and Mead, Computer Journal 1965). `y` has NaN where
  /// a value is missing, and at least three values. `spent`: numbers fitted to `y` before, for the criterion.
  ExponentialSmoothing(std::span<const double> y, Form form, double spent = 0);

  GaussianPath forecast(std::int64_t horizon) const;
  /// Draws the errors of one path around a `forecast` of this, each divided by its standard deviation: errors of
  /// earlier steps move the level, the trend and the season of later ones. A longer path begins with the same errors.
  std::vector<double> path_errors(const GaussianPath& forecast, Random& random) const;
  /// Akaike's information criterion with its correction for short series; infinite if `y` has too few values.
  double criterion() const { return criterion_; }

 private:
  struct State;
  State run(std::span<const double> y, std::span<const double> parameters) const;
  /// What errors at such a level are multiples of.
  double size_at(double level) const;

  Form form_;
  double scale_ = 1, base_ = 0;  // of the values, for starting points
  double level_ = 0, trend_ = 0, alpha_ = 0, beta_ = 0, gamma_ = 0, damping_ = 1, variance_ = 0;
  double criterion_ = 0;
  std::vector<double> season_;  // of the places behind the series
};

/// The forms of exponential smoothing averaged by Akaike weights, whose differences count half.
class AveragedSmoothing {
 public:
  /// The forms that suit a series, at least one. Those with a season have this period, unless it is 1 or above 60, or a
  /// place of the season has no known value. `positive`: no value is 0 or below, so errors may grow with the level.
  static std::vector<ExponentialSmoothing::Form> forms(std::span<const double> y, std::int64_t period, bool positive);

  /// Averages these forms, all fitted to one series. Of those for which the series is too short only the first counts.
  explicit AveragedSmoothing(std::vector<ExponentialSmoothing> fitted);

  GaussianPath forecast(std::int64_t horizon) const;
  /// The errors of a path for each stream (streams, horizon), as those of ExponentialSmoothing. Each path is of one
  /// form, drawn by its weight.
  std::vector<double> path_errors(std::int64_t horizon, std::span<Random> streams) const;

 private:
  std::vector<ExponentialSmoothing> forms_;
  std::vector<double> weights_;  // their sum is 1
};

/// The Theta method: simple exponential smoothing with half the slope of the straight line that fits best as its drift
/// (Hyndman and Billah, International Journal of Forecasting 2003). `y` must come without its season.
GaussianPath theta_forecast(std::span<const double> y, std::int64_t horizon);
/// The last season again, with errors that grow as those of a random walk from season to season.
GaussianPath seasonal_naive_path(std::span<const double> y, std::int64_t horizon, std::int64_t period);
/// The line through the first and the last value, with the errors of a random walk with drift.
GaussianPath drift_path(std::span<const double> y, std::int64_t horizon);

}  // namespace npzoo
