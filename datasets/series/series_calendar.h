#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "npzoo/datasets/series/calendar_step.h"
#include "npzoo/datasets/series/open_times.h"
#include "npzoo/datasets/tables/cell_parser.h"

namespace npzoo {

/// A period that the calendar makes likely.
struct CalendarPeriod {
  std::string_view name;  // "hour", "day", "week", "month" or "year"
  double steps = 0;
};

/// The steps of a series: a place is a whole number of steps after the first time.
class SeriesCalendar {
 public:
  using Rule = std::variant<EqualSteps, CalendarStep, YearStep, OpenTimes>;

  SeriesCalendar(Rule rule, const ColumnForm& form) : rule_(std::move(rule)), form_(form) {}

  const Rule& rule() const { return rule_; }
  const ColumnForm& form() const { return form_; }
  /// Returns the time of a place, also of one before the first time.
  double time(std::int64_t place) const;
  /// Returns the nearest place; none for a time at which the series never has a row, such as a Sunday.
  std::optional<std::int64_t> place(double time) const;
  /// Returns the place as a number, with a fraction for times between steps.
  double position(double time) const;
  /// Days or, of times that are numbers, their unit.
  double mean_step() const;
  /// Periods of the calendar that are two steps or longer, the shortest first. None for times that are numbers.
  std::vector<CalendarPeriod> periods() const;
  /// Returns the period with a name ("week"); none if the calendar has none or it is below two steps.
  std::optional<double> period(std::string_view name) const;
  /// Describes the steps: "months", "7 days", "1 hour, 72 of 168 in a week".
  std::string description() const;

 private:
  Rule rule_;
  ColumnForm form_;
};

/// Times on a calendar.
struct PlacedTimes {
  SeriesCalendar calendar;
  std::vector<std::int64_t> places{};  // of each time, from 0, ascending and different
  std::int64_t moved = 0;              // times that are not on their step
  std::size_t furthest = 0;            // of these, the one that is furthest from its step
};

/// Finds the steps of ascending, different times: of months, dekads or years by the calendar, of open times such as
/// business days, or equal ones. Every time has a step of its own, within 0.4 steps of it and within
/// 0.15 in the root of the mean square. `rows` are the times between the first and the last one at which a value was to
/// be measured, so that a missing value closes no time; ascending; empty: `times`. None if there are no such steps, if
/// places would outnumber times by more than 10 to 1, and for fewer than two times.
std::optional<PlacedTimes> place_on_calendar(std::span<const double> times, const ColumnForm& form,
                                             std::span<const double> rows = {});

}  // namespace npzoo
