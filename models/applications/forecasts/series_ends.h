#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "npzoo/datasets/comonotonic_sum.h"
#include "npzoo/datasets/series/smoothing.h"
#include "npzoo/models/applications/tables/series_predictor.h"

namespace npzoo {

/// A regular series, and how far to forecast behind its last known value.
struct SeriesEnd {
  std::vector<double> y;          // of each step, NaN where missing; the last one is known
  std::int64_t horizon = 0;       // steps behind the last one
  std::vector<double> periods{};  // steps; empty: found
  std::vector<double> likely{};   // periods that need less evidence to be found
  bool logarithms = true;         // whether methods of logarithms take part
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
  log_remainder,
  level_profile
};
inline constexpr std::size_t kEndMethods = 9;
constexpr std::size_t index_of(EndMethod method) { return static_cast<std::size_t>(method); }
std::string_view name_of(EndMethod method);
/// Those that need no weights.
inline constexpr std::array kPlainEndMethods{EndMethod::smoothing, EndMethod::theta, EndMethod::drift,
                                             EndMethod::seasonal_naive};

/// The number so many steps ahead on a path whose first number is one step ahead. Between steps it is interpolated;
/// `last` is the number 0 steps ahead.
double at_step(std::span<const double> path, double last, double ahead);

/// The forecast of a method or of the combination: a distribution for each step.
struct EndPath {
  struct LogNormal {
    double share = 0;
    GaussianPath logarithm;  // (horizon)
  };
  GaussianPath gaussian;  // (horizon); means and deviations are 0 in a method of logarithms
  std::vector<LogNormal> log_normal{};

  /// False: not for this series.
  bool exists() const { return !gaussian.mean.empty(); }
  /// The distribution so many steps ahead, at least 0. Between steps its numbers are interpolated; 0 is the last known
  /// value.
  ComonotonicSum at(double ahead, double last) const;
  /// The distribution of step h; the first is 0.
  ComonotonicSum step(std::size_t h) const { return at(static_cast<double>(h + 1), 0); }
};

struct EndForecast {
  std::vector<double> periods;                 // steps
  EndPath combined;                            // (horizon)
  std::array<EndPath, kEndMethods> methods{};  // by EndMethod
  std::array<double, kEndMethods> shares{};    // of the combination; their sum is 1
  std::optional<AveragedSmoothing> smoothing{};

  const EndPath& of(EndMethod method) const { return methods[index_of(method)]; }
  /// Draws a path for each stream (streams, horizon): at each step the distribution of the combination, and steps
  /// depend on each other as in exponential smoothing. A longer horizon begins with the same errors.
  std::vector<double> paths(std::span<Random> streams) const;
};

/// Forecasts behind the ends of series by a combination of exponential smoothing, Theta, drift, the last season, a
/// season profile (level_profile_path) and the weights. The weights predict twice: the values, and the values minus a
/// straight line and the mean season. Where no value is 0 or below, smoothing and weights also forecast the logarithms,
/// whose season grows with the level.
///
/// Quantiles are averaged, so that the combination is a Gaussian plus log-normal parts, and deviations are multiplied
/// by a factor that suits held-out errors. A method's share falls with the fifth power of its score (CRPS) on at most
/// two held-out parts of the series, each as long as a season or the horizon. Series that are forecast together learn
/// from each other: scores are drawn towards those of other series with the same season, and the factor towards what
/// their errors ask for; of a series alone, towards the median of its scores and the usual factor. Series too short to
/// hold a part out get the usual shares, changed by the scores of others, without logarithms. Forecasts of a series of
/// one value have at least the deviation of its rounding (rounding_std). Deterministic, whatever the number of threads;
/// the order of series may change the last digits. Throws Interrupted as `predictor` does, and Error for a series
/// without three known values.
std::vector<EndForecast> forecast_ends(const SeriesPredictor& predictor, std::span<const SeriesEnd> ends);

/// Mean CRPS of the distributions at the known values among `truth`; NaN if none is known.
double crps(const EndPath& path, std::span<const double> truth);

}  // namespace npzoo
