#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "npzoo/datasets/tables/date_notations.h"

namespace npzoo {

/// The part of a date that a column holds, if several columns are a date together.
enum class DatePart : std::uint8_t {
  none,
  date,
  year,
  quarter,
  half_year,
  month,
  week,
  day,
  day_of_year,
  hour,  // 0 to 24, or the beginning of 00 - 01
  minute,
  second,
  clock,           // 13:05
  clock_interval,  // 13:00-14:00
  hhmm,            // 1305
  hhmmss,          // 130500
  half_day,        // AM or PM, behind a clock or an hour
  half_hour,       // 1 to 48
  half_hour_from_0,
  quarter_hour,  // 1 to 96
  quarter_hour_from_0
};

inline constexpr std::size_t kMostDateParts = 6;
/// The parts of the columns, in their order; none behind the last one.
using DateParts = std::array<DatePart, kMostDateParts>;

/// Returns the part that the name of a column means: "Year", "Monat", "HH", "Time [UTC]". None for other names.
DatePart part_named(std::string_view name);

/// Facts about the cells of such a column.
class PartScan {
 public:
  explicit PartScan(DateOrder order) : order_(order) {}
  /// Adds a cell that is not missing.
  void add(std::string_view cell);
  /// Whether all cells may be this part.
  bool may_be(DatePart part) const;

 private:
  DateOrder order_;
  bool dates_ = true, clocks_ = true, intervals_ = true, months_ = true, quarters_ = true, numbers_ = true;
  std::size_t fewest_digits_ = 99, most_digits_ = 0;  // in front of a point
  double least_ = 1e9, largest_ = -1e9;
  bool hhmm_ = true, hhmmss_ = true, fractions_ = false;
  bool half_years_ = true, half_days_ = true;
  std::bitset<97> seen_;     // whole numbers
  std::int64_t length_ = 0;  // of intervals, minutes
};

/// Finds the parts of columns by their cells and, where these leave a doubt, by their names: a date and a time, or
/// year, month and day with a time, or year and quarter, week or day of the year. None if the columns are no date
/// together.
std::optional<DateParts> parts_of_date(std::span<const std::string> names, std::span<const PartScan> scans);

/// Joins the cells of a row. `wrong` is the column of the first cell that is not what it should be.
struct JoinedDate {
  std::optional<DateTime> time;
  std::size_t wrong = 0;
};
JoinedDate join_date(const DateParts& parts, std::span<const std::string_view> cells, DateOrder order,
                     bool short_years);

/// Describes the expected part for messages: "an hour from 0 to 24".
std::string_view expected_of(DatePart part);

}  // namespace npzoo
