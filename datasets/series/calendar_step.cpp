#include "npzoo/datasets/series/calendar_step.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "npzoo/datasets/series/floor_divide.h"

namespace npzoo {

namespace {

constexpr std::int64_t kMonthEnds = 31;
constexpr double kSameTime = 1e-6;  // days: a tenth of a second

/// A date of the Gregorian calendar and a time of day.
struct CalendarDate {
  std::int64_t month = 0, day = 1, last_day = 31;  // months since year 0; of the month; of the same month
  double time_of_day = 0;

  bool is_on(std::int64_t of_month) const { return day == std::min(of_month, last_day); }
};

std::int64_t last_day_of(std::int64_t month) {
  using namespace std::chrono;
  const year_month_day_last last{year(static_cast<int>(month / 12)) / (static_cast<int>(month % 12) + 1) /
                                 std::chrono::last};
  return static_cast<unsigned>(last.day());
}

std::int64_t day_number(std::int64_t month, std::int64_t day) {
  using namespace std::chrono;
  const sys_days date{year(static_cast<int>(month / 12)) / (static_cast<int>(month % 12) + 1) /
                      std::chrono::day(static_cast<unsigned>(day))};
  return date.time_since_epoch().count();
}

CalendarDate date_of(double time, std::int64_t epoch) {
  using namespace std::chrono;
  const double midnight = std::floor(time);
  const year_month_day date{sys_days(days(epoch + static_cast<std::int64_t>(midnight)))};
  const std::int64_t month = 12 * std::int64_t{static_cast<int>(date.year())} + static_cast<unsigned>(date.month()) - 1;
  return {month, static_cast<unsigned>(date.day()), last_day_of(month), time - midnight};
}

/// The dates of these times; empty if one is outside of the years that dates have.
std::vector<CalendarDate> dates_of(std::span<const double> times, std::int64_t epoch) {
  constexpr double kFourDigits = 2.9e6;  // days: years up to 9999
  std::vector<CalendarDate> dates;
  for (const double time : times) {
    if (!(std::abs(static_cast<double>(epoch) + time) < kFourDigits)) return {};
    dates.push_back(date_of(time, epoch));
  }
  return dates;
}

/// The time of day that most dates have.
double usual_time_of_day(std::span<const CalendarDate> dates) {
  std::vector<double> times;
  for (const CalendarDate& d : dates) times.push_back(d.time_of_day);
  const auto middle = times.begin() + std::ssize(times) / 2;
  std::ranges::nth_element(times, middle);
  return *middle;
}

/// Whether so many of all dates decide.
bool enough(std::size_t found, std::size_t all) {
  constexpr std::size_t kFew = 8;
  return all < kFew ? found == all : 4 * found >= 3 * all;
}

/// The day of a month that most dates are on, month ends first.
std::int64_t usual_day(std::span<const CalendarDate> dates) {
  std::set<std::int64_t> days{kMonthEnds};
  for (const CalendarDate& d : dates) days.insert(d.day);
  const auto count = [&](std::int64_t day) {
    return std::ranges::count_if(dates, [day](const CalendarDate& d) { return d.is_on(day); });
  };
  return *std::ranges::max_element(days.rbegin(), days.rend(), {}, count);
}

/// Days of which most months have a date; month ends are day 31.
std::vector<std::int64_t> usual_days(std::span<const CalendarDate> dates) {
  std::map<std::int64_t, std::size_t> counts;
  std::set<std::int64_t> months;
  for (const CalendarDate& d : dates) {
    ++counts[d.day == d.last_day ? kMonthEnds : d.day];
    months.insert(d.month);
  }
  constexpr std::size_t kFewestMonths = 3, kMostDays = 6;
  constexpr std::int64_t kNearest = 4;
  std::vector<std::int64_t> days;
  for (const auto& [day, count] : counts)
    if (2 * count >= months.size()) days.push_back(day);
  if (months.size() < kFewestMonths || days.size() < 2 || days.size() > kMostDays) return {};
  for (std::size_t i = 1; i < days.size(); ++i)
    if (days[i] - days[i - 1] < kNearest) return {};
  return days;
}

/// The first place is that of the earliest time.
CalendarStep beginning_at(CalendarStep step, double time) {
  const std::int64_t place = step.place(time), days = std::ssize(step.days);
  step.first_day += place;
  step.first_month += step.months * floor_divide(step.first_day, days);
  step.first_day -= days * floor_divide(step.first_day, days);
  return step;
}

}  // namespace

double CalendarStep::time(std::int64_t steps) const {
  const std::int64_t number = first_day + steps, round = floor_divide(number, std::ssize(days));
  const std::int64_t month = first_month + months * round;
  const std::int64_t day = days[static_cast<std::size_t>(number - round * std::ssize(days))];
  return static_cast<double>(day_number(month, std::min(day, last_day_of(month))) - epoch) + time_of_day;
}

std::int64_t CalendarStep::place(double at) const {
  const std::int64_t rounds = floor_divide(date_of(at, epoch).month - first_month, months);
  const std::int64_t begin = rounds * std::ssize(days) - first_day - 1;
  std::int64_t best = begin;
  for (std::int64_t place = begin; place <= begin + std::ssize(days) + 1; ++place)
    if (std::abs(time(place) - at) < std::abs(time(best) - at)) best = place;
  return best;
}

std::optional<CalendarStep> find_calendar_step(std::span<const double> times, std::int64_t epoch) {
  const std::vector<CalendarDate> dates = dates_of(times, epoch);
  if (dates.size() < 2) return {};
  CalendarStep step{.months = 0, .days = {usual_day(dates)}, .time_of_day = usual_time_of_day(dates), .epoch = epoch};
  const auto begin_at_first = [&](std::span<const CalendarDate> found) {
    step.first_month = found.front().month;
    return beginning_at(step, times[0]);
  };
  const auto matching = [&] {
    std::vector<CalendarDate> found;
    for (const CalendarDate& d : dates)
      if (std::abs(d.time_of_day - step.time_of_day) <= kSameTime &&
          std::ranges::any_of(step.days, [&d](std::int64_t day) { return d.is_on(day); }))
        found.push_back(d);
    return found;
  };
  std::vector<CalendarDate> found = matching();
  if (enough(found.size(), dates.size())) {
    for (std::size_t i = 1; i < found.size(); ++i) {
      const std::int64_t months = found[i].month - found[i - 1].month;
      if (months < 1) return {};
      step.months = std::gcd(step.months, months);
    }
    return begin_at_first(found);
  }
  step.months = 1;
  step.days = usual_days(dates);
  found = matching();
  if (step.days.empty() || !enough(found.size(), dates.size())) return {};
  return begin_at_first(found);
}

double YearStep::time(std::int64_t steps) const {
  const std::int64_t number = first + steps, year = floor_divide(number, steps_of_year());
  const std::int64_t day = day_number(12 * year, 1) + days * (number - year * steps_of_year());
  return static_cast<double>(day - epoch) + time_of_day;
}

std::int64_t YearStep::place(double at) const {
  const std::int64_t year = date_of(at, epoch).month / 12;
  const double into = at + static_cast<double>(epoch - day_number(12 * year, 1)) - time_of_day;
  const std::int64_t begin =
      year * steps_of_year() + static_cast<std::int64_t>(std::floor(into / static_cast<double>(days))) - first;
  return std::abs(time(begin + 1) - at) < std::abs(time(begin) - at) ? begin + 1 : begin;
}

std::optional<YearStep> find_year_step(std::span<const double> times, std::int64_t epoch) {
  const std::vector<CalendarDate> dates = dates_of(times, epoch);
  if (dates.size() < 2 || dates.front().month / 12 == dates.back().month / 12) return {};
  YearStep step{.days = 0, .time_of_day = usual_time_of_day(dates), .epoch = epoch};
  for (std::size_t i = 0; i < dates.size(); ++i) {
    const CalendarDate& d = dates[i];
    if (std::abs(d.time_of_day - step.time_of_day) > kSameTime) return {};
    const std::int64_t day = day_number(d.month, d.day) - day_number(d.month / 12 * 12, 1);
    step.days = std::gcd(step.days, day);
  }
  constexpr std::int64_t kLeast = 4, kMost = 31;
  if (step.days < kLeast || step.days > kMost) return {};
  step.first = step.place(times[0]);
  return step;
}

}  // namespace npzoo
