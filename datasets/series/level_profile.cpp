#include "npzoo/datasets/series/level_profile.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

namespace npzoo {

namespace {

constexpr std::size_t kFewestSeasons = 8;

/// The whole steps of the longest period with enough cycles; 0 without one.
std::size_t longest_period(std::size_t count, std::span<const double> periods) {
  std::size_t longest = 0;
  for (const double period : periods) {
    const auto steps = static_cast<std::size_t>(std::max(0LL, std::llround(period)));
    if (steps > 1 && steps <= count / kFewestSeasons) longest = std::max(longest, steps);
  }
  return longest;
}

/// Whole seasons up to the end of a series, row by row.
struct Seasons {
  std::span<const double> y;
  std::size_t period;

  std::size_t count() const { return y.size() / period; }
  std::span<const double> season(std::size_t i) const { return y.subspan(i * period, period); }
};

double median_of(std::vector<double>& values) {
  const auto middle = values.begin() + std::ssize(values) / 2;
  std::ranges::nth_element(values, middle);
  return *middle;
}

/// The median of known values over `weights` at their places; NaN if fewer than half of them are known.
double level_of(std::span<const double> season, const std::vector<double>& weights) {
  std::vector<double> levels;
  for (std::size_t j = 0; j < season.size(); ++j)
    if (!std::isnan(season[j]) && weights[j] > 0) levels.push_back(season[j] / weights[j]);
  return 2 * levels.size() >= season.size() ? median_of(levels) : std::numeric_limits<double>::quiet_NaN();
}

std::vector<double> levels_of(const Seasons& seasons, const std::vector<double>& profile) {
  std::vector<double> levels;
  for (std::size_t i = 0; i < seasons.count(); ++i) levels.push_back(level_of(seasons.season(i), profile));
  return levels;
}

/// The median share of each place in the levels of the last seasons.
std::vector<double> profile_of(const Seasons& seasons, const std::vector<double>& levels) {
  std::vector<double> profile;
  for (std::size_t j = 0; j < seasons.period; ++j) {
    std::vector<double> shares;
    for (std::size_t i = seasons.count() - kFewestSeasons; i < seasons.count(); ++i)
      if (const double share = seasons.season(i)[j] / levels[i]; !std::isnan(share)) shares.push_back(share);
    profile.push_back(shares.empty() ? std::numeric_limits<double>::quiet_NaN() : median_of(shares));
  }
  return profile;
}

/// The variance of what level and profile leave, as a share of the squared level.
double relative_variance(const Seasons& seasons, const std::vector<double>& levels,
                         const std::vector<double>& profile) {
  double sizes = 0, count = 0;
  for (std::size_t i = seasons.count() - kFewestSeasons; i < seasons.count(); ++i)
    for (std::size_t j = 0; j < seasons.period; ++j) {
      const double error = seasons.season(i)[j] / levels[i] - profile[j];
      if (std::isnan(error)) continue;
      sizes += std::abs(error);
      ++count;
    }
  const double fitted = static_cast<double>(seasons.period + kFewestSeasons);  // the profile, and the levels
  constexpr double kOfGaussian = 1.5707963267948966;  // the variance over the squared mean size
  return kOfGaussian * sizes / count * sizes / std::max(1.0, count - fitted);
}

bool above_zero(const std::vector<double>& values) {
  return std::ranges::none_of(values, [](double v) { return v <= 0; });
}

}  // namespace

GaussianPath level_profile_path(std::span<const double> y, std::int64_t horizon, std::span<const double> periods) {
  const std::size_t period = longest_period(y.size(), periods);
  if (period == 0) return {};
  const Seasons seasons{y.last(y.size() / period * period), period};
  // Levels need a profile where values are missing, and the profile needs levels.
  std::vector<double> levels = levels_of(seasons, std::vector<double>(period, 1.0));
  std::vector<double> profile = profile_of(seasons, levels);
  if (std::ranges::any_of(profile, [](double p) { return !(p >= 0); })) return {};
  levels = levels_of(seasons, profile);
  constexpr std::ptrdiff_t kFewestLevels = 3;
  const auto known = std::ranges::count_if(levels, [](double level) { return !std::isnan(level); });
  if (known < kFewestLevels || !above_zero(levels)) return {};
  const double noise = relative_variance(seasons, levels, profile);
  std::vector<ExponentialSmoothing> fitted;
  for (const ExponentialSmoothing::Form& form : AveragedSmoothing::forms(levels, 1, true))
    fitted.emplace_back(levels, form);
  const auto ahead = (horizon + static_cast<std::int64_t>(period) - 1) / static_cast<std::int64_t>(period);
  const GaussianPath level = AveragedSmoothing(std::move(fitted)).forecast(ahead);
  GaussianPath path;
  for (std::size_t h = 0; h < static_cast<std::size_t>(horizon); ++h) {
    const double mean = level.mean[h / period], std = level.std[h / period], place = profile[h % period];
    path.mean.push_back(mean * place);
    path.std.push_back(std::sqrt(std * std * place * place + noise * mean * mean));
  }
  return path;
}

}  // namespace npzoo
