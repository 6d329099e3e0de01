#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace npzoo {

/// Steps from one day of a month to the next: monthly, quarterly and yearly dates, and those of the 1st and 15th or of
/// dekads. A date is on a month's last day if the month is too short for its day. Day 31 means month ends.
struct CalendarStep {
  std::int64_t months = 1;            // 1, 3, 12, …; with several days 1
  std::vector<std::int64_t> days{1};  // of the month, 1 … 31, ascending
  double time_of_day = 0;             // days, 0 … 1
  std::int64_t epoch = 0;             // the day since 1970-01-01 that times count from
  std::int64_t first_month = 0;       // of the first date, months since year 0
  std::int64_t first_day = 0;         // of the first date, its position in `days`

  /// Returns the time `steps` steps after the first date, in days since `epoch`.
  double time(std::int64_t steps) const;
  /// Returns how many steps after the first date the nearest date of this step is.
  std::int64_t place(double time) const;
  /// Steps of a year.
  double steps_of_year() const { return 12.0 * static_cast<double>(days.size()) / static_cast<double>(months); }
};

/// Finds the step of ascending times (days since `epoch`). Of eight and more times three quarters must be such dates,
/// of fewer all of them. None if there is no such step.
std::optional<CalendarStep> find_calendar_step(std::span<const double> times, std::int64_t epoch);

/// Steps of whole days that begin anew on each 1 January, as composites of satellite pictures have them.
struct YearStep {
  std::int64_t days = 8;
  double time_of_day = 0;  // days, 0 … 1
  std::int64_t epoch = 0;  // the day since 1970-01-01 that times count from
  std::int64_t first = 0;  // the number of the first date, counted from year 0

  double time(std::int64_t steps) const;
  std::int64_t place(double time) const;
  std::int64_t steps_of_year() const { return (364 + days) / days; }
};

/// Finds steps of 4 to 31 days. None unless all times are such dates, of two or more years.
std::optional<YearStep> find_year_step(std::span<const double> times, std::int64_t epoch);

}  // namespace npzoo
