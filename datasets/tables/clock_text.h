#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace npzoo {

/// Returns a time of day as ISO 8601 writes it (13:05, 13:05:00.5, 13:05+02:00); empty if `text` is none. Reads 9:05,
/// 1:05:00 PM, 1:05 p.m., 18.00.00, 13h05, 5 PM, with UTC, GMT, Z or an offset behind, 0100 UTC, and intervals such as
/// 13:00 - 14:00, of which it returns the beginning. Does not check that the numbers are in range.
std::string iso_clock(std::string_view text);

/// Reads the time of day of a text that iso_clock accepts: nanoseconds since midnight, up to 24:00. Only the time since
/// a start may be longer: 25:00:00, 1 day 02:00:00, -0:30. None for times with a zone and for anything else.
std::optional<std::int64_t> parse_elapsed(std::string_view text);
/// The same time, given in days, as text: 13:05:00, 1 day 13:05:00; to the microsecond.
std::string format_elapsed(double days);
/// 12 for PM, 0 for AM, in any letters and with points; none for anything else.
std::optional<int> half_day_in(std::string_view cell);

}  // namespace npzoo
