#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace npzoo {

/// Whether a byte is 0 … 9, whatever the locale.
inline bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// A date, or a date and a time of day, as ISO 8601 writes them: a moment where it has a zone, and what a clock on the
/// wall showed where it has none.
struct DateTime {
  std::int64_t day = 0;         // since 1970-01-01, Gregorian; of UTC where there is a zone
  std::int64_t nanosecond = 0;  // of the day
  bool zoned = false;
};

/// Reads YYYY-MM, YYYY-MM-DD and YYYY-MM-DDThh:mm[:ss[.f…]], with a blank or T in the middle, and behind a time Z, ±hh,
/// ±hhmm or ±hh:mm. A month stands for its first day. Digits below a nanosecond are dropped; 24:00 is the next
/// midnight. None for anything else, days that no calendar has included.
std::optional<DateTime> parse_date_time(std::string_view text);

/// Returns a day of the Gregorian calendar as DateTime counts it; none if the calendar has no such day.
std::optional<std::int64_t> day_in_calendar(int year, int month, int day);

/// Days since midnight of day `epoch`. Exact to 1e-16 of the distance.
double days_since(std::int64_t epoch, const DateTime& time);
/// The same moment as text, to the microsecond: without a time of day where that is midnight, with a Z where it is
/// zoned.
std::string format_date_time(std::int64_t epoch, double days, bool zoned);

}  // namespace npzoo
