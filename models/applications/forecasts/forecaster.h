#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "npzoo/datasets/series/windows.h"
#include "npzoo/models/applications/forecasts/window_forecast.h"

namespace npzoo {

struct ForecastOptions {
  std::int64_t horizon = 0;             // places; 0: the horizon of the training
  std::vector<double> quantiles{};      // probabilities, each above 0 and below 1
  std::int64_t samples = 0;             // paths
  std::optional<std::uint64_t> seed{};  // of random numbers; none: the seed of the training, or 0
  std::vector<double> truth{};          // (H, Dy), the future values, NaN where unknown; empty: all unknown
  std::stop_token stop{};               // after a request the call throws Interrupted
  /// Called with the steps done so far and those of all paths, by one thread at a time.
  std::function<void(std::int64_t done, std::int64_t all)> progress{};
};

/// The prediction of the places behind the last known one of a series, in the units of the table; row-major.
struct SeriesForecast {
  std::vector<double> time{};                          // (H), as the series has them
  std::vector<double> mean{}, std{};                   // (H, Dy)
  std::vector<double> quantiles{};                     // (H, Dy, Q)
  std::vector<double> samples{};                       // (H, Dy, S): paths
  std::vector<double> crps{}, central_mass{};          // (H, Dy), as in SeriesPrediction; only with a truth
  std::string how{};                                   // its mode: "one-shot, exact", or "free-running, 50 samples"
  std::int64_t first_context = 0, context_points = 0;  // the place that the context begins at; its known points
};

/// A forecast by a model of windows: its context is the last one of the series. The first window is the model's own
/// prediction, whatever the horizon. Beyond it the forecaster continues at least `kLeastPaths` sampled paths; moments
/// and quantiles are then those of the paths. The model always predicts whole windows, so a longer horizon changes no
/// earlier step. Throws Error if the context has too few values, if the horizon ends after the year 9999, and if a
/// figure is not finite.
class Forecaster {
 public:
  static constexpr std::int64_t kLeastPaths = 200;
  /// The largest number of values of all sampled paths together: steps × paths × columns.
  static constexpr std::int64_t kMostSampledValues = 20'000'000;

  Forecaster(const Model& model, WindowRules rules, SeriesScale scale);

  SeriesForecast forecast(const TimeSeries& series, const ForecastOptions& options) const;

 private:
  static constexpr std::int64_t kPathsTogether = 512;

  std::string how(const WindowForecast& window, bool at_once, std::int64_t count) const;

  const Model& model_;
  WindowRules rules_;
  SeriesScale scale_;
};

}  // namespace npzoo
