#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "npzoo/datasets/series/windows.h"
#include "npzoo/models/prediction.h"

namespace npzoo {

/// The scores of a forecast of one window.
struct WindowScore {
  double log_likelihood = std::numeric_limits<double>::quiet_NaN();  // per target point, nats
  double mse = 0, mae = 0;             // means over known values; the latter of the median
  std::vector<double> squares{};       // (horizon), means over channels; NaN where unknown
  std::vector<double> crps{}, mass{};  // of each known value; none of a forecast without a distribution

  static void fields(auto& bytes, auto& self) {
    bytes(self.log_likelihood, self.mse, self.mae, self.squares, self.crps, self.mass);
  }
};

/// Returns the places of the horizon that are known: these are the targets of a task.
std::vector<std::int64_t> known_targets(const ForecastSeries& series, const WindowRules& rules, std::int64_t start);

/// Scores a forecast without a distribution. `forecast` and the true values `y` are (targets, Dy).
WindowScore score_values(std::span<const double> forecast, std::span<const double> y,
                         std::span<const std::int64_t> targets, std::int64_t horizon);

/// Scores the windows of a batch. The true values `y` are (B, Nt, Dy), at places `targets` of each window.
std::vector<WindowScore> score_marginals(const Marginals& marginals, const Tensor& y,
                                         std::span<const std::vector<std::int64_t>> targets, std::int64_t horizon);

}  // namespace npzoo
