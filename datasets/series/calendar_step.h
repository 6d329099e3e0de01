#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace npzoo {

/// Steps of whole months, as monthly, quarterly and yearly dates have them: every date is on the same day of its month,
/// or on the last day of a month that is too short. Day 31 means month ends.
struct CalendarStep {
  std::int64_t months = 1;       // between neighbours: 1, 3, 12, …
  std::int64_t day = 1;          // of the month, 1 … 31
  double time_of_day = 0;        // days, 0 … 1
  std::int64_t epoch = 0;        // the day since 1970-01-01 that times count from
  std::int64_t first_month = 0;  // of the first date, months since year 0

  /// Returns the time `steps` steps after the first date, in days since `epoch`.
  double time(std::int64_t steps) const;
  /// Returns how many steps after the first date this time is. It must be one of the dates that the step was found
  /// from.
  std::int64_t steps_to(double time) const;
};

/// Finds the step of ascending times (days since `epoch`). None if the dates are no such steps, or nearer than a month.
std::optional<CalendarStep> find_calendar_step(std::span<const double> times, std::int64_t epoch);

}  // namespace npzoo
