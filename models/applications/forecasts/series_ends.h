#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "npzoo/datasets/series/smoothing.h"
#include "npzoo/models/applications/tables/series_predictor.h"

namespace npzoo {

/// A regular series, and how far to forecast behind its last known value.
struct SeriesEnd {
  std::vector<double> y;          // of each step, NaN where missing; the last one is known
  std::int64_t horizon = 0;       // steps behind the last one
  std::vector<double> periods{};  // steps; empty: found
  std::vector<double> likely{};   // periods that need less evidence to be found
};

/// The ways to forecast that a combination is made of.
enum class EndMethod : std::uint8_t {
  smoothing,
  theta,
  drift,
  seasonal_naive,
  remainder,
  values,
  logarithms,
  log_remainder
};
inline constexpr std::size_t kEndMethods = 8;
std::string_view name_of(EndMethod method);
/// Those that need no weights.
inline constexpr std::array kPlainEndMethods{EndMethod::smoothing, EndMethod::theta, EndMethod::drift,
                                             EndMethod::seasonal_naive};

struct EndForecast {
  std::vector<double> periods;                      // steps
  GaussianPath combined;                            // (horizon)
  std::array<GaussianPath, kEndMethods> methods{};  // by EndMethod; empty: not for this series
  std::array<double, kEndMethods> shares{};         // of the combination; their sum is 1
  std::optional<AveragedSmoothing> smoothing{};

  const GaussianPath& of(EndMethod method) const { return methods[static_cast<std::size_t>(method)]; }
  /// Draws a path for each stream (streams, horizon): at each step the Gaussian of the combination, and steps depend on
  /// each other as in exponential smoothing. A longer horizon begins with the same errors.
  std::vector<double> paths(std::span<Random> streams) const;
};

/// Forecasts behind the ends of series by a combination of exponential smoothing, Theta, drift, the last season and the
/// weights. The weights predict twice: the values, and the values minus a straight line and the mean season. Where no
/// value is 0 or below, smoothing and weights also forecast the logarithms, whose season grows with the level.
///
/// Means and standard deviations are averaged (quantile averaging of Gaussians), and deviations are multiplied by a
/// factor that suits the series' held-out errors, at most 1.15. A method's share falls with the fourth
/// power of its score (CRPS) on at most two held-out parts of the series, each as long as a season or the horizon.
/// Series too short for that get the usual shares, without logarithms. Forecasts of a series of one value have at least
/// the deviation of its rounding (rounding_std). Deterministic, whatever the number of threads.
/// Throws Interrupted as `predictor` does, and Error for a series without three known values.
std::vector<EndForecast> forecast_ends(const SeriesPredictor& predictor, std::span<const SeriesEnd> ends);

/// Mean CRPS of the Gaussians at the known values among `truth`; NaN if none is known.
double crps(const GaussianPath& path, std::span<const double> truth);

}  // namespace npzoo
