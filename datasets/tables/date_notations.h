#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "npzoo/datasets/tables/date_time.h"

namespace npzoo {

/// The order of day, month and year in dates of three numbers, such as 03/04/2020.
enum class DateOrder : std::uint8_t { unknown, dmy, mdy, ymd };
/// Returns the order that is called "dmy", "mdy" or "ymd"; unknown for any other name.
DateOrder date_order_named(std::string_view name);

/// Reads a date in a notation other than ISO 8601 uses most: 2020/01/05, Jan 2020, Jan-20, 5 Jan 2020, Fri, 5 Jan 2020,
/// Jan 5, 2020, 1960 Q1, 2006-Q1, a date of parse_date_code, and with a time of day (see iso_clock) behind any of them
/// or behind an ISO date. Of an interval between two such dates it returns the beginning. A month stands for its first
/// day, and so does a quarter. Years of two digits in `Jan-20` are 1969 to 2068. Three numbers that do not begin with a
/// year of four digits need `order`: None if it is unknown. With `short_years` they may end (ymd: begin) with a year of
/// two digits. None for anything else.
std::optional<DateTime> parse_date_notation(std::string_view text, DateOrder order, bool short_years);

}  // namespace npzoo
