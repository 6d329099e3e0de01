#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <map>

namespace npzoo {

/// The density behind a log-likelihood per target point. Less restricted densities can reach higher values.
enum class Density : std::uint8_t {
  marginal,  // each target by itself, as a Gaussian
  mixture,   // each target by itself, as any distribution
  joint,     // all targets together
};

/// log N(y; mean, variance), in nats.
double log_normal_density(double y, double mean, double variance);

/// The t that Student's distribution of 1 or more degrees of freedom exceeds in absolute value with probability 5
/// %: 12.71 of 1, 2.776 of 4 (Abramowitz and Stegun 26.7.3 and 26.7.4).
double student_quantile(std::int64_t degrees);

/// A figure and its standard error, NaN if that is not known.
struct Estimate {
  double value = 0;
  double standard_error = std::numeric_limits<double>::quiet_NaN();
};

/// Mean of independent values that come one by one and count equally.
class RunningMean {
 public:
  void add(double value);

  std::int64_t count() const { return count_; }
  /// 0 of none; the standard error is NaN of fewer than two.
  Estimate estimate() const;

 private:
  std::int64_t count_ = 0;
  double mean_ = 0, squares_ = 0;
};

/// How predictions of single values fit.
class MarginalFit {
 public:
  /// A value that a Gaussian was predicted for.
  void add(double mean, double std, double y);
  /// Any other: its continuous ranked probability score, and the probability of the smallest central interval that
  /// holds it, as in npzoo/datasets/gaussian_mixture.h.
  void add(double crps, double central_mass);

  /// Mean continuous ranked probability score, in units of y (Gneiting and Raftery, JASA 2007, equation 21).
  double crps() const { return crps_ / static_cast<double>(values_); }
  /// Share of values inside the central interval of `percent` %, a multiple of 5 from 5 to 95.
  double coverage(int percent) const;
  /// Returns the coverage of the usual intervals: 50, 80, 90 and 95 %.
  std::map<int, double> coverage() const;
  /// Mean over the intervals of 5, 10 … 95 % of how far their coverage is off.
  double calibration_error() const;

 private:
  static constexpr int kStep = 5;  // per cent

  std::int64_t values_ = 0;
  double crps_ = 0;
  std::array<std::int64_t, 100 / kStep> inside_{};  // values that the interval of (i + 1) kStep % is the first to hold
};

}  // namespace npzoo
