#include <algorithm>
#include <cmath>
#include <optional>

#include "npzoo/datasets/series/season.h"
#include "npzoo/models/applications/tables/row_distribution.h"
#include "npzoo/models/applications/tables/table_ends.h"

namespace npzoo {

namespace {

/// A series without its last part.
struct HiddenEnd {
  SeriesEnd shown;
  std::vector<double> hidden;
  double unit = 0;  // mean error of the last season on the part that is shown
  ValueTransform transform;
};

/// The mean error of the last season; 0 without one.
double seasonal_error(std::span<const double> y, std::int64_t season) {
  double sum = 0, count = 0;
  for (auto t = static_cast<std::size_t>(season); t < y.size(); ++t) {
    const double error = std::abs(y[t] - y[t - static_cast<std::size_t>(season)]);
    if (std::isnan(error)) continue;
    sum += error;
    ++count;
  }
  return count > 0 ? sum / count : 0;
}

/// Hides the last season, or six steps; none if the series is too short.
std::optional<HiddenEnd> hide_end(const RegularSeries& s) {
  constexpr std::int64_t kUsual = 6, kFewest = 8;
  const std::vector<double> periods = s.given.empty() ? find_periods(s.y, s.likely) : s.given;
  const std::int64_t season = periods.empty() ? 1 : std::llround(periods[0]);
  auto size = s.steps() - std::max(season, kUsual);
  if (size < std::max(2 * season, kFewest)) return {};
  while (size > 0 && std::isnan(s.y[static_cast<std::size_t>(size - 1)])) --size;
  HiddenEnd end{.shown = {.y = {s.y.begin(), s.y.begin() + size},
                          .horizon = s.steps() - size,
                          .periods = s.given,
                          .likely = s.likely,
                          .logarithms = takes_logarithms(s)},
                .hidden = {s.y.begin() + size, s.y.end()},
                .transform = s.transform};
  std::vector<double> values = end.shown.y;
  if (s.transform.active())
    for (double& y : values) y = std::isnan(y) ? y : s.transform.inverse(y);
  end.unit = seasonal_error(values, season);
  const auto known = std::ranges::count_if(end.shown.y, [](double v) { return !std::isnan(v); });
  return end.unit > 0 && known >= kFewest ? std::optional(std::move(end)) : std::nullopt;
}

/// Adds the scores of a path.
void add_scores(const HiddenEnd& end, const EndPath& path, EndScore& score) {
  constexpr double kCentral = 0.95;
  for (std::size_t h = 0; h < end.hidden.size(); ++h) {
    if (std::isnan(end.hidden[h])) continue;
    RowDistribution d{path.step(h), end.transform};
    d.z.std = positive_std(d.z.std, d.z.at(0));
    const double y = end.transform.active() ? end.transform.inverse(end.hidden[h]) : end.hidden[h];
    score.mase += std::abs(y - d.moments().mean) / end.unit;
    score.crps += d.crps(y) / end.unit;
    score.coverage_95 += d.central_mass(y) <= kCentral;
    ++score.values;
  }
}

}  // namespace

std::vector<EndScore> check_table_ends(const SeriesPredictor& predictor, std::span<const RegularSeries> series) {
  std::vector<HiddenEnd> ends;
  std::vector<SeriesEnd> shown;
  for (const RegularSeries& s : series)
    if (auto end = hide_end(s)) {
      shown.push_back(end->shown);
      ends.push_back(std::move(*end));
    }
  if (ends.empty()) return {};
  const std::vector<EndForecast> forecasts = forecast_ends(predictor, shown);
  std::vector<EndScore> scores;
  for (std::size_t m = 0; m <= kEndMethods; ++m) {
    const auto path = [m](const EndForecast& f) -> const EndPath& { return m == 0 ? f.combined : f.methods[m - 1]; };
    if (std::ranges::any_of(forecasts, [&](const EndForecast& f) { return !path(f).exists(); })) continue;
    EndScore& score = scores.emplace_back();
    score.method = m == 0 ? "combination" : std::string(name_of(static_cast<EndMethod>(m - 1)));
    for (std::size_t i = 0; i < ends.size(); ++i) add_scores(ends[i], path(forecasts[i]), score);
    for (double* figure : {&score.mase, &score.crps, &score.coverage_95}) *figure /= static_cast<double>(score.values);
  }
  return scores;
}

}  // namespace npzoo
