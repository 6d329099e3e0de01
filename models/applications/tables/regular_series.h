#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "npzoo/datasets/series/series_calendar.h"
#include "npzoo/models/applications/tables/table_series.h"
#include "npzoo/models/applications/warning.h"

namespace npzoo {

/// A row of the question, and its place on the calendar of its series.
struct AskedRow {
  std::int64_t row = 0;
  double position = 0;  // steps from the first known value
  bool closed = false;  // the series never has a value at such a time
};

/// A series of a table with one input, on its calendar.
struct RegularSeries {
  std::size_t column = 0;          // of the value
  std::int64_t group = 0;          // its number
  SeriesCalendar calendar;         // found from the known values alone
  std::vector<double> y{};         // (steps) up to the last known value, NaN where missing; means of equal times
  std::vector<double> likely{};    // periods of the calendar, in steps
  std::vector<double> given{};     // periods that the caller gives, ascending; empty: none
  std::vector<AskedRow> inside{};  // rows between the first and the last known value, at steps without one
  std::vector<AskedRow> behind{};  // rows behind the last known value
  ValueTransform transform{};      // from `y` to values: the question's, or the floor of values that are often 0
  std::int64_t averaged = 0;       // known values at a time that another one has
  double within = 0;               // variance of a value around the means of `y`, which those of equal times leave out
  std::int64_t moved = 0;          // times that are not on their step
  std::int64_t far = 0;            // rows more than ten times the series behind its end, which the weights answer
  std::optional<std::string> furthest{};  // the text of the one that is furthest from it

  std::int64_t steps() const { return static_cast<std::int64_t>(y.size()); }
  std::int64_t known() const;
};

/// Why a series with rows behind its last value has no calendar.
struct IrregularEnd {
  std::size_t column = 0;
  std::int64_t group = 0;
  bool few = false;                       // fewer than eight known values; otherwise their times have no steps
  std::optional<std::string> furthest{};  // the time that alone, or with a few others, is far from equal steps
};

struct SeriesOfCalendar {
  std::vector<RegularSeries> regular{};
  std::vector<IrregularEnd> irregular{};
};

/// Finds the calendars of the series of a question with one input. A series qualifies if it has at least eight known
/// values whose times have steps (see place_on_calendar). `periods` are steps ("12") or, of dates, times ("1y", "3m",
/// "7d", "24h"). `usual`: series of a column without a transform have that of usual_transform. Throws Error for a
/// period with an unknown unit or below two steps.
SeriesOfCalendar find_regular_series(const TableQuestion& question, const ColumnForm& form,
                                     std::span<const std::string> periods, bool usual);

/// The known value of a row, for scores; NaN if there is none.
double truth_of(const TableQuestion& question, std::size_t column, std::int64_t row);

/// Warns about times that were moved, values that were averaged, rows behind the end at times at which a series
/// never has a value, and series without a calendar.
std::vector<Warning> calendar_warnings(const SeriesOfCalendar& series, const TableQuestion& question,
                                       const ColumnForm& form);

}  // namespace npzoo
