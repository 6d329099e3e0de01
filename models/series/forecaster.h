#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "datasets/forecast/source.h"
#include "models/model.h"

namespace npzoo {

/// How far to look ahead of a series, and what to tell of it.
struct ForecastOptions {
  std::int64_t horizon = 0;         // places
  std::vector<double> quantiles{};  // each above 0 and below 1
  std::int64_t samples = 0;         // paths
  std::uint64_t seed = 0;           // of what is random
};

/// What a model says of the places behind the last known one of a series, in the units of the table; row-major.
struct SeriesForecast {
  std::vector<double> time{};                          // (H), as the series has them
  std::vector<double> mean{}, std{};                   // (H, Dy)
  std::vector<double> quantiles{};                     // (H, Dy, Q)
  std::vector<double> samples{};                       // (H, Dy, S): paths
  std::string how{};                                   // its mode: "one-shot, exact", or "free-running, 50 samples"
  std::int64_t first_context = 0, context_points = 0;  // the place that the context begins at; its known points
};

/// A forecast by a model of windows: its context is the last one of the series. Beyond the horizon of its windows it
/// goes on from paths that it has drawn itself, at least `kLeastPaths`, of which moments and quantiles then are. Throws
/// Error where the context knows too little.
class Forecaster {
 public:
  static constexpr std::int64_t kLeastPaths = 200;

  Forecaster(const Model& model, WindowRules rules, SeriesScale scale);

  SeriesForecast forecast(const TimeSeries& series, const ForecastOptions& options) const;

 private:
  const Model& model_;
  WindowRules rules_;
  SeriesScale scale_;
};

}  // namespace npzoo
