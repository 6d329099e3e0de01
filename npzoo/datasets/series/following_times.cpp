#include "npzoo/datasets/series/following_times.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "npzoo/datasets/series/time_series.h"

namespace npzoo {

namespace {

constexpr std::int64_t kDaysOfWeek = 7, kBusinessDays = 5;

/// From 0, a Monday, for days since 1970-01-01, a Thursday.
std::int64_t day_of_week(std::int64_t day) { return ((day + 3) % kDaysOfWeek + kDaysOfWeek) % kDaysOfWeek; }

}  // namespace

std::vector<std::int64_t> business_days(std::span<const double> times, const ColumnForm& form) {
  constexpr std::int64_t kFewest = 10;
  if (form.kind != ColumnForm::Kind::time || std::ssize(times) < kFewest) return {};
  std::vector<std::int64_t> places;
  for (const double time : times) {
    if (time != std::floor(time)) return {};
    const std::int64_t day = static_cast<std::int64_t>(time) + form.epoch, of_week = day_of_week(day);
    if (of_week >= kBusinessDays) return {};
    places.push_back((day - of_week + 3) / kDaysOfWeek * kBusinessDays + of_week);
  }
  const std::int64_t first = places.front(), size = places.back() - first + 1;
  if (4 * std::ssize(places) < 3 * size) return {};
  for (std::int64_t& place : places) place -= first;
  return places;
}

std::vector<double> following_times(std::span<const double> times, const ColumnForm& form, std::int64_t count) {
  Measurements m{.time_form = form, .time = {times.begin(), times.end()}, .y = {}};
  m.y.assign(times.size(), 0);
  const TimeSeries series = order_by_time(std::move(m), 1, "series");
  const std::vector<double> sorted = [&] {
    std::vector<double> all(times.begin(), times.end());
    std::ranges::sort(all);
    return all;
  }();
  std::vector<double> next;
  const bool business = !business_days(sorted, form).empty();
  double last = sorted.back();
  for (std::int64_t i = 0; i < count; ++i) {
    if (!business) {
      next.push_back(series.time_at(series.size() + i));
      continue;
    }
    const auto day = static_cast<std::int64_t>(last) + form.epoch;
    last += day_of_week(day) == kBusinessDays - 1 ? 3 : 1;
    next.push_back(last);
  }
  return next;
}

}  // namespace npzoo
