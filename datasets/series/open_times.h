#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace npzoo {

/// Equal steps: whole numbers of `step` from `origin`.
struct EqualSteps {
  double origin = 0, step = 1;

  double time(std::int64_t steps) const { return origin + step * static_cast<double>(steps); }
  std::int64_t place(double time) const;
};

/// Finds the equal steps of ascending times, which need not lie on them: each is near a step of its own, as those of a
/// clock that jitters, or all but a few are on their steps. `dates`: times are days, and the steps of clocks and
/// calendars are preferred. None for fewer than two times and for steps that most times are not near.
std::optional<EqualSteps> find_equal_steps(std::span<const double> times, bool dates);

/// Steps from one open time to the next: only some of the equal steps of a week, or of a day, ever occur. Business days
/// and opening hours are such steps; holidays are gaps.
struct OpenTimes {
  double cycle = 7;                  // days: a week, which begins on Monday, or a day
  double step = 1;                   // days between neighbours of the same day
  double origin = 0;                 // a time at which a cycle begins
  std::vector<std::int64_t> open{};  // steps of a cycle that occur, ascending
  std::int64_t first = 0;            // open steps from `origin` to the first time

  /// Returns the time `steps` open steps after the first one.
  double time(std::int64_t steps) const;
  /// Returns how many open steps after the first time this is; none if it is at a step that never occurs.
  std::optional<std::int64_t> place(double time) const;
  std::int64_t open_in_cycle() const { return static_cast<std::int64_t>(open.size()); }
  /// Open steps of each open day; none if days differ.
  std::optional<std::int64_t> open_in_day() const;
};

/// Finds the open times of ascending times (days since `epoch`) that are near `steps`. None if all steps of a week
/// occur, if steps are missing so often that others may be missing by chance, or if a step had few chances to occur:
/// two in a week, seven in a day. Saturdays and Sundays need one. `rows` are all times at which a value was to be
/// measured, from the first of `times` to the last one: a step at which most cycles have a row is open.
std::optional<OpenTimes> find_open_times(std::span<const double> times, std::span<const double> rows,
                                         const EqualSteps& steps, std::int64_t epoch);

}  // namespace npzoo
