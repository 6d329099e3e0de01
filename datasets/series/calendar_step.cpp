#include "npzoo/datasets/series/calendar_step.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>
#include <vector>

namespace npzoo {

namespace {

constexpr std::int64_t kMonthEnds = 31;

/// A date of the Gregorian calendar and a time of day.
struct CalendarDate {
  std::int64_t month = 0, day = 1, last_day = 31;  // months since year 0; of the month; of the same month
  double time_of_day = 0;
};

std::int64_t last_day_of(std::int64_t month) {
  using namespace std::chrono;
  const year_month_day_last last{year(static_cast<int>(month / 12)) / (static_cast<int>(month % 12) + 1) /
                                 std::chrono::last};
  return static_cast<unsigned>(last.day());
}

CalendarDate date_of(double time, std::int64_t epoch) {
  using namespace std::chrono;
  const double midnight = std::floor(time);
  const year_month_day date{sys_days(days(epoch + static_cast<std::int64_t>(midnight)))};
  const std::int64_t month = 12 * std::int64_t{static_cast<int>(date.year())} + static_cast<unsigned>(date.month()) - 1;
  return {month, static_cast<unsigned>(date.day()), last_day_of(month), time - midnight};
}

}  // namespace

double CalendarStep::time(std::int64_t steps) const {
  using namespace std::chrono;
  const std::int64_t month = first_month + steps * months;
  const auto on = static_cast<unsigned>(std::min(day, last_day_of(month)));
  const sys_days date{year(static_cast<int>(month / 12)) / (static_cast<int>(month % 12) + 1) / std::chrono::day(on)};
  return static_cast<double>(date.time_since_epoch().count() - epoch) + time_of_day;
}

std::int64_t CalendarStep::steps_to(double time) const { return (date_of(time, epoch).month - first_month) / months; }

std::optional<CalendarStep> find_calendar_step(std::span<const double> times, std::int64_t epoch) {
  constexpr double kFourDigits = 2.9e6, kSameTime = 1e-6;  // days: years up to 9999; a tenth of a second
  std::vector<CalendarDate> dates;
  for (const double time : times) {
    if (!(std::abs(static_cast<double>(epoch) + time) < kFourDigits)) return {};
    dates.push_back(date_of(time, epoch));
    if (dates.size() > 1 && dates.back().month <= dates[dates.size() - 2].month) return {};
  }
  if (dates.size() < 2) return {};
  const auto ends_month = [](const CalendarDate& d) { return d.day == d.last_day; };
  CalendarStep step{.months = 0,
                    .day = std::ranges::max(dates, {}, &CalendarDate::day).day,
                    .time_of_day = dates[0].time_of_day,
                    .epoch = epoch,
                    .first_month = dates[0].month};
  if (std::ranges::all_of(dates, ends_month)) step.day = kMonthEnds;
  for (const CalendarDate& d : dates) {
    if (d.day != std::min(step.day, d.last_day) || std::abs(d.time_of_day - step.time_of_day) > kSameTime) return {};
    step.months = std::gcd(step.months, d.month - step.first_month);
  }
  return step;
}

}  // namespace npzoo
