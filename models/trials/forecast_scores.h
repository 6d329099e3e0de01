#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "npzoo/datasets/scores.h"
#include "npzoo/models/applications/forecasts/window_scores.h"
#include "npzoo/models/trials/trial.h"

namespace npzoo {

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
  /// `name` begins the names of its figures, "teacher_forced". `how` densities are got; empty if there are none.
  ForecastScores(std::string name, std::string how, const WindowRules& rules);

  void add(const WindowScore& window);

  const std::string& name() const { return name_; }
  std::int64_t windows() const { return mse_.count(); }
  Estimate log_likelihood() const { return log_likelihood_.estimate(); }
  /// Adds mean squared error, mean absolute error, squared errors at some steps and, of distributions, log-likelihood,
  /// CRPS and coverage. `windows_per_point`, of the whole part, is for figures that divide by points.
  void add_figures(double windows_per_point, std::vector<Figure>& figures) const;
  /// For people, under `kForecastHead`.
  std::string line() const;
  /// Returns the steps at which errors are printed: 1, the quarters and the last.
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
