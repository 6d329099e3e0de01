#include "npzoo/models/applications/forecasts/end_parts.h"

#include <algorithm>
#include <cmath>

#include "npzoo/datasets/series/level_profile.h"
#include "npzoo/datasets/series/season.h"
#include "npzoo/engine/error.h"
#include "npzoo/engine/parallel.h"

namespace npzoo {

namespace {

constexpr std::size_t kMostFitted = 2000;  // long series are forecast from their last steps

/// Adds a season and its variance.
GaussianPath with_season(GaussianPath path, const SeriesTrend& trend, std::size_t begin) {
  for (std::size_t h = 0; h < path.mean.size(); ++h) {
    path.mean[h] += trend.season(static_cast<double>(begin + h));
    path.std[h] = std::sqrt(path.std[h] * path.std[h] + trend.season_variance());
  }
  return path;
}

std::vector<double> periods_of(const SeriesEnd& end, std::span<const double> y) {
  return end.periods.empty() ? find_periods(y, end.likely) : end.periods;
}

/// Values without their season.
std::vector<double> without_season(std::span<const double> y, const SeriesTrend& trend) {
  std::vector<double> flat(y.begin(), y.end());
  for (std::size_t t = 0; t < flat.size(); ++t) flat[t] -= trend.season(static_cast<double>(t));
  return flat;
}

/// Takes line and season away. `flat` is without the season.
EndPart::Remainder remainder_of(std::vector<double> flat, const SeriesTrend& trend, std::int64_t horizon) {
  EndPart::Remainder r;
  for (std::int64_t h = 1; h <= horizon; ++h) {
    const double place = static_cast<double>(flat.size()) + static_cast<double>(h - 1);
    r.regular.push_back(trend.season(place) + trend.slope() * place);
    r.variance.push_back(trend.season_variance() + trend.slope_variance() * static_cast<double>(h * h));
  }
  r.left = std::move(flat);
  for (std::size_t t = 0; t < r.left.size(); ++t) r.left[t] -= trend.slope() * static_cast<double>(t);
  return r;
}

EndPart::Curve curve_of(std::span<const double> y, std::span<const double> periods, bool relative) {
  SeriesTrend trend(y, periods);
  std::vector<double> flat = without_season(y, trend);
  std::vector<ExponentialSmoothing::Form> forms = AveragedSmoothing::forms(flat, whole_period(periods), relative);
  return {std::move(trend), std::move(flat), std::move(forms)};
}

/// Finds seasons and trends, and computes what takes little time.
void prepare(EndPart& part) {
  const std::span<const double> y = part.y;
  const std::int64_t horizon = part.horizon;
  const bool positive = std::ranges::none_of(y, [](double v) { return v <= 0; });
  const auto& [trend, flat, forms, fitted] = part.curve.emplace(curve_of(y, part.periods, positive));
  auto& methods = part.methods;
  methods[index_of(EndMethod::theta)] = {with_season(theta_forecast(flat, horizon), trend, y.size())};
  methods[index_of(EndMethod::drift)] = {with_season(drift_path(flat, horizon), trend, y.size())};
  methods[index_of(EndMethod::seasonal_naive)] = {seasonal_naive_path(y, horizon, whole_period(part.periods))};
  methods[index_of(EndMethod::level_profile)] = {level_profile_path(y, horizon, part.periods)};
  part.values = remainder_of(flat, trend, horizon);
  if (!positive || !part.takes_logarithms) return;
  std::vector<double> logs;
  for (const double v : y) logs.push_back(std::log(v));
  constexpr bool kGrowing = false;  // errors of logarithms do not grow with their level
  const EndPart::Curve& curve = part.log_curve.emplace(curve_of(logs, part.periods, kGrowing));
  part.logarithms = remainder_of(curve.flat, curve.trend, horizon);
}

/// Fits each form of smoothing to each curve.
void fit_smoothing(std::span<EndPart* const> parts) {
  struct Task {
    EndPart::Curve& curve;
    std::size_t form;
  };
  std::vector<Task> tasks;
  for (EndPart* const part : parts)
    for (std::optional<EndPart::Curve>* curve : {&part->curve, &part->log_curve}) {
      if (!*curve) continue;
      (*curve)->fitted.resize((*curve)->forms.size());
      for (std::size_t form = 0; form < (*curve)->forms.size(); ++form) tasks.push_back({**curve, form});
    }
  thread_pool().for_range(std::ssize(tasks), 1, [&](std::int64_t begin, std::int64_t) {
    const auto& [curve, form] = tasks[static_cast<std::size_t>(begin)];
    curve.fitted[form].emplace(curve.flat, curve.forms[form], curve.trend.degrees());
  });
}

AveragedSmoothing averaged(EndPart::Curve& curve) {
  std::vector<ExponentialSmoothing> fitted;
  for (std::optional<ExponentialSmoothing>& form : curve.fitted) fitted.push_back(std::move(*form));
  return AveragedSmoothing(std::move(fitted));
}

void forecast_by_smoothing(EndPart& part) {
  part.smoothing.emplace(averaged(*part.curve));
  part.methods[index_of(EndMethod::smoothing)] = {
      with_season(part.smoothing->forecast(part.horizon), part.curve->trend, part.y.size())};
  if (!part.log_curve) return;
  part.methods[index_of(EndMethod::logarithms)] = from_logarithms(
      with_season(averaged(*part.log_curve).forecast(part.horizon), part.log_curve->trend, part.y.size()));
}

/// Those of a part that is held out. If it lacks few values, they are those of the whole series.
std::vector<double> periods_of(const SeriesEnd& end, const EndPart& part, const EndPart& whole) {
  constexpr std::size_t kFew = 10;  // one in so many
  return kFew * (whole.y.size() - part.y.size()) <= whole.y.size() ? whole.periods : periods_of(end, part.y);
}

/// A series and, where it is long enough, two of its first parts.
std::vector<EndPart> parts_of(const SeriesEnd& end, std::size_t number) {
  const auto last = std::span(end.y).last(std::min(end.y.size(), kMostFitted));
  const std::vector<double> y(last.begin(), last.end());
  constexpr std::int64_t kUsualHidden = 6, kFewest = 16;
  std::vector<EndPart> parts{{.series = number,
                              .y = y,
                              .truth = {},
                              .horizon = end.horizon,
                              .periods = periods_of(end, y),
                              .takes_logarithms = end.logarithms}};
  const std::int64_t season = whole_period(parts[0].periods);
  const std::int64_t hidden = std::min(end.horizon, std::max(season, kUsualHidden));
  for (std::int64_t count = 1; count <= 2; ++count) {
    std::int64_t size = std::ssize(y) - count * hidden;
    if (size < std::max(2 * season + 4, kFewest)) break;
    EndPart part{
        .series = number, .y = {}, .truth = {}, .horizon = hidden, .periods = {}, .takes_logarithms = end.logarithms};
    while (size > 0 && std::isnan(y[static_cast<std::size_t>(size - 1)])) --size;
    part.y.assign(y.begin(), y.begin() + size);
    part.truth.assign(y.begin() + size, y.begin() + std::min<std::int64_t>(size + hidden, std::ssize(y)));
    part.horizon = std::ssize(part.truth);
    const auto known = std::ranges::count_if(part.y, [](double v) { return !std::isnan(v); });
    if (known < kFewest / 2) break;
    parts.push_back(std::move(part));
  }
  return parts;
}

}  // namespace

std::int64_t whole_period(std::span<const double> periods) {
  return periods.empty() ? 1 : std::max<std::int64_t>(1, std::llround(periods[0]));
}

EndPath from_logarithms(GaussianPath logarithm) {
  for (double& std : logarithm.std) std = std::min(std, 1.0);
  const std::vector<double> none(logarithm.mean.size());
  return {.gaussian = {none, none}, .log_normal = {{1, std::move(logarithm)}}};
}

std::vector<std::vector<EndPart>> fit_parts(std::span<const SeriesEnd> ends) {
  std::vector<std::vector<EndPart>> of_series(ends.size());
  // Chunks of one: the threads share single series, parts and forms.
  thread_pool().for_range(std::ssize(ends), 1, [&](std::int64_t begin, std::int64_t) {
    const auto i = static_cast<std::size_t>(begin);
    const SeriesEnd& end = ends[i];
    const auto known = std::ranges::count_if(end.y, [](double v) { return !std::isnan(v); });
    check(known >= 3 && end.horizon >= 1 && !std::isnan(end.y.back()),
          "[forecast] a series of {} known values and a horizon of {} found, expected 3 and 1 or more", known,
          end.horizon);
    of_series[i] = parts_of(end, i);
  });
  std::vector<EndPart*> parts;
  for (std::vector<EndPart>& some : of_series)
    for (EndPart& part : some) parts.push_back(&part);
  thread_pool().for_range(std::ssize(parts), 1, [&](std::int64_t begin, std::int64_t) {
    EndPart& part = *parts[static_cast<std::size_t>(begin)];
    if (!part.truth.empty()) part.periods = periods_of(ends[part.series], part, of_series[part.series].front());
    prepare(part);
  });
  fit_smoothing(parts);
  for (EndPart* const part : parts) forecast_by_smoothing(*part);
  return of_series;
}

}  // namespace npzoo
