#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "npzoo/models/applications/tables/regular_series.h"

namespace npzoo {

struct SeasonalHoleOptions {
  std::vector<double> quantiles;  // as those of the answer
  std::uint64_t seed = 0;         // of samples
};

/// How the holes of a series were filled.
struct SeasonalHoles {
  std::size_t column = 0;
  std::int64_t group = 0;
  std::vector<double> periods{};  // steps
  double share = 0;               // of the answer from values without their season; the other one has the rest
  std::int64_t hidden = 0;        // known values that were hidden to find the share
};

/// Replaces the predictions inside series with a season: the average of what the weights predict from the values, and
/// from the values without their season (see SeriesTrend). Means and standard deviations are averaged. The shares fall
/// with the third power of the CRPS on known values that are hidden in the pattern of the holes, at up to three other
/// places. A season that was found must be better by 5 % there; otherwise, without a season, and above 20,000 steps, a
/// series keeps its predictions. Samples are independent of each other.
std::vector<SeasonalHoles> fill_seasonal_holes(SeriesMethod& weights, std::span<const RegularSeries> series,
                                               const TableQuestion& question, const SeasonalHoleOptions& options,
                                               std::vector<PredictedColumn>& columns);

}  // namespace npzoo
