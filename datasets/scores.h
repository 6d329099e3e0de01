#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace npzoo {

/// Mean of numbers that come one after the other, and how certain it is.
class RunningMean {
 public:
  void add(double value);

  std::int64_t count() const { return count_; }
  double mean() const { return mean_; }
  /// Standard deviation of the numbers over √count; NaN for fewer than two.
  double standard_error() const;

 private:
  std::int64_t count_ = 0;
  double mean_ = 0, squares_ = 0;
};

/// Scores of Gaussian predictions of single values. Batches count equally in the log-likelihood, values in the rest.
class GaussianScores {
 public:
  /// One batch: means, standard deviations and what was observed, all of one size. `points` is how many target points
  /// the values belong to, which are fewer where points have several channels. Returns the batch's log-likelihood.
  double add(std::span<const double> mean, std::span<const double> std, std::span<const double> y, std::int64_t points);

  /// Nats per target point, mean over batches.
  const RunningMean& log_likelihood() const { return log_likelihood_; }
  /// Continuous ranked probability score in units of y (Gneiting and Raftery, JASA 2007, equation 21).
  double crps() const { return crps_ / static_cast<double>(values_); }
  /// Share of values inside the central interval of `percent` %, a multiple of 5 from 5 to 95.
  double coverage(int percent) const;
  /// Mean over the intervals of 5, 10 … 95 % of how far their coverage is off.
  double calibration_error() const;

 private:
  static constexpr int kStep = 5;  // per cent

  RunningMean log_likelihood_;
  std::int64_t values_ = 0;
  double crps_ = 0;
  std::array<std::int64_t, 100 / kStep> inside_{};  // values that the interval of (i + 1) kStep % is the first to hold
};

}  // namespace npzoo
