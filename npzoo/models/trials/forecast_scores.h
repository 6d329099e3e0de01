#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "npzoo/datasets/scores.h"
#include "npzoo/datasets/series/windows.h"
#include "npzoo/models/prediction.h"
#include "npzoo/models/trials/trial.h"

namespace npzoo {

/// How far a forecast of one window is off.
struct WindowScore {
  double log_likelihood = std::numeric_limits<double>::quiet_NaN();  // per target point, nats
  double mse = 0, mae = 0;             // means over known values; the latter of the median
  std::vector<double> squares{};       // (horizon), means over channels; NaN where unknown
  std::vector<double> crps{}, mass{};  // of each known value; none of a forecast without a distribution
};

/// Places of the horizon that are known: which of them the targets of a task are.
std::vector<std::int64_t> known_targets(const ForecastSeries& series, const WindowRules& rules, std::int64_t start);

/// Of a forecast without a distribution: the values of the targets and what was said of them, (targets, Dy).
WindowScore score_values(std::span<const double> forecast, std::span<const double> y,
                         std::span<const std::int64_t> targets, std::int64_t horizon);

/// Of the windows of a batch whose targets (B, Nt, Dy) are at places `targets` of each.
std::vector<WindowScore> score_marginals(const Marginals& marginals, const Tensor& y,
                                         std::span<const std::vector<std::int64_t>> targets, std::int64_t horizon);

/// Windows that come in their order, each of which counts equally. Windows overlap, so standard errors are those of
/// means over blocks of `block` windows, which share few points.
class WindowMean {
 public:
  explicit WindowMean(std::int64_t block) : block_(block) {}
  void add(double value);
  Estimate estimate() const { return {all_.estimate().value, blocks_.estimate().standard_error}; }
  std::int64_t count() const { return all_.count(); }

 private:
  std::int64_t block_, in_block_ = 0;
  double sum_of_block_ = 0;
  RunningMean all_, blocks_;
};

/// One way to forecast: a mode of a model, or a baseline.
class ForecastScores {
 public:
  /// `name` begins the names of its figures, "teacher_forced". `how` densities are got; empty where there are none.
  ForecastScores(std::string name, std::string how, const WindowRules& rules);

  void add(const WindowScore& window);

  const std::string& name() const { return name_; }
  std::int64_t windows() const { return mse_.count(); }
  Estimate log_likelihood() const { return log_likelihood_.estimate(); }
  /// Mean squared error, mean absolute error, squared errors at some steps and, of distributions, log-likelihood, CRPS
  /// and coverage. `windows_per_point`: of the whole part; for the figures of who divides by points.
  void add_figures(double windows_per_point, std::vector<Figure>& figures) const;
  /// For people, under `kForecastHead`.
  std::string line() const;
  /// Steps that errors are told at: 1, the quarters and the last.
  static std::vector<std::int64_t> steps(std::int64_t horizon);
  /// "MSE at step 1, 24 …".
  std::string line_of_steps() const;

 private:
  double mse_at(std::int64_t step) const;

  std::string name_, how_;
  WindowMean log_likelihood_, mse_, mae_;
  std::vector<RunningMean> squares_;  // (horizon)
  MarginalFit fit_;
  std::int64_t fitted_ = 0;
};

inline constexpr const char* kForecastHead =
    "                        MSE       MAE       log-lik.  CRPS      50 %   80 %   90 %   95 %";

}  // namespace npzoo
