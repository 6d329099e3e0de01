#include "npzoo/datasets/series/baselines.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "npzoo/engine/cancellation.h"
#include "npzoo/engine/error.h"

namespace npzoo {

namespace {

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

/// Position of the last known value before `end`, −1 if there is none.
std::int64_t last_known(std::span<const double> y, std::int64_t end) {
  std::int64_t at = end - 1;
  while (at >= 0 && std::isnan(y[static_cast<std::size_t>(at)])) --at;
  return at;
}

double value_at(std::span<const double> y, std::int64_t at) {
  return at < 0 ? kUnknown : y[static_cast<std::size_t>(at)];
}

}  // namespace

std::vector<double> persistence(std::span<const double> y, std::int64_t horizon) {
  return std::vector<double>(static_cast<std::size_t>(horizon), value_at(y, last_known(y, std::ssize(y))));
}

std::vector<double> seasonal_naive(std::span<const double> y, std::int64_t horizon, std::int64_t period) {
  std::vector<double> forecast = persistence(y, horizon);
  for (std::int64_t h = 0; h < horizon; ++h) {
    std::int64_t at = std::ssize(y) + h % period - period;
    while (at >= 0 && std::isnan(y[static_cast<std::size_t>(at)])) at -= period;
    if (at >= 0) forecast[static_cast<std::size_t>(h)] = y[static_cast<std::size_t>(at)];
  }
  return forecast;
}

std::vector<double> drift(std::span<const double> y, std::int64_t horizon) {
  std::vector<double> forecast = persistence(y, horizon);
  const auto first = std::ranges::find_if(y, [](double v) { return !std::isnan(v); }) - y.begin();
  const std::int64_t last = last_known(y, std::ssize(y));
  if (last <= first) return forecast;
  const double slope = (value_at(y, last) - value_at(y, first)) / static_cast<double>(last - first);
  for (std::int64_t h = 0; h < horizon; ++h)
    forecast[static_cast<std::size_t>(h)] += slope * static_cast<double>(std::ssize(y) + h - last);
  return forecast;
}

std::vector<double> persistence_one_step(std::span<const double> y, std::int64_t begin) {
  std::vector<double> before;
  for (std::int64_t at = begin; at < std::ssize(y); ++at) before.push_back(value_at(y, last_known(y, at)));
  return before;
}

std::int64_t season_of(const TimeSeries& series) {
  if (!series.calendar) return 1;
  for (const std::string_view name : {"day", "week", "year"})
    if (const std::optional<double> steps = series.calendar->period(name)) return std::llround(*steps);
  return 1;
}

HoltWintersPath::HoltWintersPath(const HoltWinters& p, std::span<const double> y) : period_(p.period) {
  check(p.period >= 1, "[forecast] a season of {} places found, expected 1 or more", p.period);
  const std::size_t size = y.size();
  level_.assign(size, kUnknown);
  trend_.assign(size, 0);
  season_.assign(size, 0);
  double squares = 0, count = 0;
  for (std::size_t t = 0; t < size; ++t) {
    const auto season = static_cast<std::size_t>(p.period);
    const double before = p.period > 1 && t >= season ? season_[t - season] : 0;
    season_[t] = before;
    if (t == 0 || std::isnan(level_[t - 1])) {
      level_[t] = y[t];
      continue;
    }
    level_[t] = level_[t - 1] + trend_[t - 1];
    trend_[t] = trend_[t - 1];
    if (std::isnan(y[t])) continue;
    const double error = y[t] - level_[t] - before;
    level_[t] += p.alpha * error;
    trend_[t] += p.alpha * p.beta * error;
    if (p.period > 1) season_[t] += p.gamma * (1 - p.alpha) * error;
    squares += error * error;
    ++count;
  }
  one_step_mse_ = count > 0 ? squares / count : 0;
}

std::vector<double> HoltWintersPath::forecast(std::int64_t begin, std::int64_t horizon) const {
  std::vector<double> forecast;
  const auto last = static_cast<std::size_t>(begin - 1);
  for (std::int64_t h = 1; h <= horizon; ++h) {
    const std::int64_t like = begin - period_ + (h - 1) % period_;  // the place of that season
    const double season = like >= 0 ? season_[static_cast<std::size_t>(like)] : 0;
    forecast.push_back(level_[last] + static_cast<double>(h) * trend_[last] + season);
  }
  return forecast;
}

double HoltWintersPath::mse(std::span<const double> y, std::int64_t horizon) const {
  constexpr std::int64_t kMostOrigins = 200;
  const std::int64_t last = std::ssize(y) - horizon, first = std::min(last, 2 * period_ + 1),
                     step = std::max<std::int64_t>((last - first) / kMostOrigins, 1);
  double squares = 0, count = 0;
  for (std::int64_t origin = std::max<std::int64_t>(first, 1); origin <= last; origin += step) {
    const std::vector<double> said = forecast(origin, horizon);
    for (std::int64_t h = 0; h < horizon; ++h) {
      const double error = y[static_cast<std::size_t>(origin + h)] - said[static_cast<std::size_t>(h)];
      if (std::isnan(error)) continue;
      squares += error * error;
      ++count;
    }
  }
  return count > 0 ? squares / count : 0;
}

HoltWinters HoltWinters::fit(std::span<const double> y, std::int64_t period, std::int64_t horizon) {
  constexpr int kUnits = 1024;
  std::array<int, 3> best{kUnits / 2, 0, kUnits / 16};
  const auto at = [period](const std::array<int, 3>& p) {
    const auto share = [](int units) { return static_cast<double>(units) / kUnits; };
    return HoltWinters{share(p[0]), share(p[1]), share(p[2]), period};
  };
  const auto loss = [&](const std::array<int, 3>& p) { return HoltWintersPath(at(p), y).mse(y, horizon); };
  double least = loss(best);
  for (int step = kUnits / 4; step >= 1;) {
    const double before = least;
    for (std::size_t i = 0; i < best.size(); ++i)
      for (const int move : {-step, step}) {
        throw_if_stopped();
        std::array<int, 3> other = best;
        other[i] = std::clamp(best[i] + move, 0, kUnits);
        if (const double found = loss(other); found < least) {
          least = found;
          best = other;
        }
      }
    if (!(least < before)) step /= 2;
  }
  return at(best);
}

}  // namespace npzoo
