#include "npzoo/datasets/series/business_days.h"

#include <algorithm>
#include <cmath>

namespace npzoo {

namespace {

constexpr std::int64_t kWeek = 7, kWorked = 5, kMonday = -3;  // 1970-01-01 was a Thursday

std::int64_t floor_divide(std::int64_t a, std::int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }

std::int64_t day_of(double time, std::int64_t epoch) {
  return static_cast<std::int64_t>(std::floor(time)) + epoch - kMonday;
}

std::int64_t day_of_week(std::int64_t day) { return day - kWeek * floor_divide(day, kWeek); }

std::int64_t number_of(double time, std::int64_t epoch) {
  const std::int64_t day = day_of(time, epoch);
  return kWorked * floor_divide(day, kWeek) + day_of_week(day);
}

}  // namespace

double BusinessDays::time(std::int64_t steps) const {
  const std::int64_t number = first + steps, week = floor_divide(number, kWorked);
  return static_cast<double>(kMonday + kWeek * week + number - kWorked * week - epoch);
}

std::int64_t BusinessDays::steps_to(double time) const { return number_of(time, epoch) - first; }

std::optional<BusinessDays> find_business_days(std::span<const double> times, std::int64_t epoch) {
  constexpr std::int64_t kFewest = 10;
  if (std::ssize(times) < kFewest) return {};
  const bool worked = std::ranges::all_of(
      times, [epoch](double time) { return time == std::floor(time) && day_of_week(day_of(time, epoch)) < kWorked; });
  if (!worked) return {};
  const BusinessDays days{.epoch = epoch, .first = number_of(times.front(), epoch)};
  const std::int64_t size = days.steps_to(times.back()) + 1;
  return 4 * std::ssize(times) < 3 * size ? std::nullopt : std::optional(days);
}

}  // namespace npzoo
