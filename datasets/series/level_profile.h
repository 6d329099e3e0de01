#pragma once

#include <cstdint>
#include <span>

#include "npzoo/datasets/series/smoothing.h"

namespace npzoo {

/// Forecasts a season as its level times a profile: the median share of each place of the season in the levels of the
/// last eight seasons. Levels, one for each season, are medians too, so that single low or high values do not move
/// them; they are forecast by exponential smoothing. Of several periods the longest counts of which the series has
/// eight cycles. Empty without one, and if a level is not above 0 or a place of the profile is below 0. `y` has NaN
/// where a value is missing.
GaussianPath level_profile_path(std::span<const double> y, std::int64_t horizon, std::span<const double> periods);

}  // namespace npzoo
