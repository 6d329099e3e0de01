#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace npzoo {

/// Finds periods of a regular series, in steps, the strongest first and at most two. `y` has NaN for missing values.
/// `likely` are periods of the calendar, such as 12 for months or 365.25 for days: two cycles in the series are enough
/// for them, at any length. Any other period is a whole number of at most 200 steps and needs three cycles. A period is
/// found if its waves stand out of the spectrum of the differences that a first-order autoregression leaves: the sum
/// over its harmonics of (gain − 2 log n) must be positive, gain being the fall of the deviance (a Bayesian information
/// criterion by harmonic). A period that is not likely needs more, since many are tried; but 4 and 12 hardly more if
/// none is likely and each place of the cycle has two values, since quarters and months are often numbered. Looks at
/// the last 2,000 values, or at two and a half cycles of a longer likely period, at most 10,000.
std::vector<double> find_periods(std::span<const double> y, std::span<const double> likely);

/// The mean of the values that are not NaN.
double mean_of_known(std::span<const double> y);

/// A wave that continues: a cos(2π f t) + b sin(2π f t), shrunk towards 0 as far as noise explains it.
struct SeasonWave {
  double frequency = 0;                       // cycles for each step
  double cosine = 0, sine = 0, variance = 0;  // of either number
};

/// The regular part of a series: a straight line and waves, by generalised least squares with residuals that are
/// autoregressive of order one (Cochrane and Orcutt, JASA 1949). Places are numbered from 0.
class SeriesTrend {
 public:
  /// Fits the values of `y`, NaN where missing. Periods of which the series has fewer than two cycles are left out. The
  /// order of periods makes no difference.
  SeriesTrend(std::span<const double> y, std::span<const double> periods);

  /// Sum of the waves.
  double season(double place) const;
  /// The variance of `season` at any place.
  double season_variance() const { return season_variance_; }
  /// Steepness of the line for each step, shrunk towards 0 by its variance.
  double slope() const { return slope_; }
  double slope_variance() const { return slope_variance_; }
  /// Correlation of neighbouring residuals, 0 … 0.99.
  double correlation() const { return correlation_; }
  /// How many numbers the waves were fitted by.
  double degrees() const { return degrees_; }

 private:
  /// Sums over the whitened values of a fit.
  struct Sums {
    double squares = 0, count = 0, ridge = 0;
  };
  void take_solution(std::vector<double> normal, const std::vector<double>& right, const Sums& of, std::size_t steps);

  std::vector<SeasonWave> waves_;
  double level_ = 0, slope_ = 0, slope_variance_ = 0, season_variance_ = 0, correlation_ = 0, degrees_ = 0;
  double raw_slope_ = 0;
};

}  // namespace npzoo
