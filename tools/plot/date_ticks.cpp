#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <optional>

#include "tools/plot/ticks.h"

namespace npzoo::tools::plot {

namespace {

using namespace std::chrono;

constexpr std::int64_t kDay = 86'400;  // seconds

/// How far ticks are apart: so many seconds, or so many months if `seconds` is 0.
struct DateStep {
  std::int64_t seconds = 0, months = 0;

  double length() const {
    return seconds > 0 ? static_cast<double>(seconds) : 30.4 * kDay * static_cast<double>(months);
  }
  bool names_year() const { return seconds == 0; }
};

constexpr auto kSteps = std::to_array<DateStep>(
    {{.seconds = 5},         {.seconds = 10},   {.seconds = 30},       {.seconds = 60},       {.seconds = 300},
     {.seconds = 600},       {.seconds = 1800}, {.seconds = 3600},     {.seconds = 3 * 3600}, {.seconds = 6 * 3600},
     {.seconds = 12 * 3600}, {.seconds = kDay}, {.seconds = 2 * kDay}, {.seconds = 3 * kDay}, {.seconds = 7 * kDay},
     {.seconds = 14 * kDay}, {.months = 1},     {.months = 2},         {.months = 3},         {.months = 6},
     {.months = 12},         {.months = 24},    {.months = 60},        {.months = 120},       {.months = 240},
     {.months = 600},        {.months = 1200},  {.months = 2400},      {.months = 6000},      {.months = 12000},
     {.months = 24000},      {.months = 60000}});

/// None if decimal numbers are better.
std::optional<DateStep> step_of(Range range, const TimeAxis& axis, int count) {
  constexpr double kFirst = -719'162, kLast = 2'932'896;  // the first day of year 1, the last one of year 9999
  const double seconds = (range.high - range.low) * kDay, epoch = static_cast<double>(axis.epoch);
  if (!(seconds >= 60) || !(range.low + epoch >= kFirst) || !(range.high + epoch <= kLast) || count < 1) return {};
  const auto fits = [&](const DateStep& step) { return seconds / step.length() <= count; };
  const auto found = std::ranges::find_if(kSteps, fits);
  return found == kSteps.end() ? kSteps.back() : *found;
}

std::string label_of(std::int64_t second, const DateStep& step) {
  constexpr std::array kMonths = {"Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  const auto day = floor<days>(sys_seconds(seconds(second)));
  const year_month_day date{day};
  const char* month = kMonths[static_cast<unsigned>(date.month()) - 1];
  if (step.months >= 12) return fmt::format("{}", static_cast<int>(date.year()));
  if (step.months > 0) return fmt::format("{} {}", month, static_cast<int>(date.year()));
  const std::int64_t of_day = second - day.time_since_epoch().count() * kDay;
  if (of_day == 0) return fmt::format("{} {}", month, static_cast<unsigned>(date.day()));
  const std::string minute = fmt::format("{:02}:{:02}", of_day / 3600, of_day / 60 % 60);
  return step.seconds % 60 == 0 ? minute : fmt::format("{}:{:02}", minute, of_day % 60);
}

/// The beginning of the month that holds a second, and of those `step` further.
std::vector<std::int64_t> months_in(double first, double last, std::int64_t step) {
  const year_month_day date{floor<days>(sys_seconds(seconds(static_cast<std::int64_t>(std::floor(first)))))};
  std::int64_t month = static_cast<int>(date.year()) * 12 + static_cast<int>(static_cast<unsigned>(date.month())) - 1;
  month -= month % step;
  std::vector<std::int64_t> found;
  for (;; month += step) {
    const auto begin = sys_days(year(static_cast<int>(month / 12)) / static_cast<int>(month % 12 + 1) / 1);
    const std::int64_t second = begin.time_since_epoch().count() * kDay;
    if (static_cast<double>(second) > last) return found;
    if (static_cast<double>(second) >= first) found.push_back(second);
  }
}

std::vector<std::int64_t> multiples_in(double first, double last, std::int64_t step) {
  std::vector<std::int64_t> found;
  for (auto at = static_cast<std::int64_t>(std::ceil(first / static_cast<double>(step))) * step;
       static_cast<double>(at) <= last; at += step)
    found.push_back(at);
  return found;
}

}  // namespace

std::vector<Tick> date_ticks(Range range, const TimeAxis& axis, int count) {
  const std::optional<DateStep> step = step_of(range, axis, count);
  if (!step) return nice_ticks(range, count);
  const std::int64_t epoch = axis.epoch * kDay;
  const auto second = [&](double day) { return day * kDay + static_cast<double>(epoch); };
  std::vector<Tick> ticks;
  for (const std::int64_t at : step->seconds > 0 ? multiples_in(second(range.low), second(range.high), step->seconds)
                                                 : months_in(second(range.low), second(range.high), step->months))
    ticks.push_back({static_cast<double>(at - epoch) / kDay, label_of(at, *step)});
  return ticks;
}

std::string years_of(Range range, const TimeAxis& axis, int count) {
  const std::optional<DateStep> step = step_of(range, axis, count);
  if (!step || step->names_year()) return "";
  const auto year_at = [&](double day) {
    const auto whole = static_cast<std::int64_t>(std::floor(day));
    return static_cast<int>(year_month_day(sys_days(days(axis.epoch + whole))).year());
  };
  const int first = year_at(range.low), last = year_at(range.high);
  return first == last ? fmt::format("{}", first) : fmt::format("{} to {}", first, last);
}

}  // namespace npzoo::tools::plot
