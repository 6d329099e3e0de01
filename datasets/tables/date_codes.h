#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "npzoo/datasets/tables/date_time.h"

namespace npzoo {

/// Returns the day of Monday of a week, or of day 1 to 7 of it, as ISO 8601 numbers weeks. None for weeks that the year
/// does not have.
std::optional<std::int64_t> day_in_week(int year, int week, int day = 1);
/// Returns the day of day 1 to 366 of a year; none for days that the year does not have.
std::optional<std::int64_t> day_in_year(int year, int day);

/// Reads dates in codes that nothing else looks like: weeks and days of the year of ISO 8601 (2024-W05, 2024W05-3,
/// 2024-020), its basic form with a time (20240120T013000Z, 20240120 0130), an hour alone (2024-01-20T01), months,
/// quarters, half-years, weeks and days of statistics offices (2018M01, 2018-Q3, 2018K3, Q3/2018, 2018S1, 2018H2,
/// 2018U05), a month beside its year (01/2018, 2018/01) and dates of SAS and Stata (01JAN2024). None for anything else.
std::optional<DateTime> parse_date_code(std::string_view text);

/// A number that may be a date.
struct NumberDate {
  DateTime time;
  std::uint8_t shape;  // how it is written; all cells of a column have one shape
};

/// Reads numbers of the years 1800 to 2199 that are dates if all numbers of their column are: YYYYMM, YYYYDDD,
/// YYYYMMDD, YYYYMMDDhh, YYYYMMDDhhmm, YYYYMMDDhhmmss, and YYYY.MM, also 2024.1 for October, and MM.YYYY; `.0` may
/// follow digits. None for anything else.
std::optional<NumberDate> parse_number_date(std::string_view text);
/// How many rows of a shape show that a column is one of dates: one number of seven digits may well be no date.
std::int64_t fewest_rows(std::uint8_t shape);

}  // namespace npzoo
