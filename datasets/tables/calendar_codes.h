#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "npzoo/datasets/tables/date_time.h"

namespace npzoo {

/// Numbers that are dates only if their whole column shows it. The shapes go on behind those of NumberDate.
enum class CalendarCode : std::uint8_t {
  none = 0,
  day_month_year = 30,  // 31012024, also without the zero in front
  month_day_year,       // 01312024
  short_day,            // 240131
  short_hour,           // 24013113
  short_month,          // 2401
  short_day_of_year,    // 24031
  short_day_month,      // 310124
  short_month_day,      // 013124
  month_year,           // 012024
  year_month,           // 20241 … 202412
  year_week,            // 202405
  year_quarter,         // 20241
  year_zero_quarter,    // 202401 … 202404
  point_quarter,        // 2024.1 … 2024.4
  day_hour,             // 20240131.13
  month_day             // 0131, without a year
};

/// Reads a number of such a form; none for any other text, and for month_day, which has no year.
std::optional<DateTime> parse_calendar_code(std::string_view text, std::uint8_t shape);
/// Whether a number may have one of these forms.
bool may_be_calendar_code(std::string_view text);

/// Finds the calendar in which the numbers of a column go on. Dates do so in equal steps, and as plain numbers they
/// jump where a month or a year ends. Row numbers, years and depths have no such jumps.
class CalendarCodes {
 public:
  /// Adds a cell that is not missing.
  void add(std::string_view cell);

  /// The only form that explains the numbers; none if there is no such form.
  CalendarCode code() const { return finding().code; }
  /// True if the numbers jump as dates do, but have no year, or fit two forms equally well.
  bool doubtful() const { return finding().doubtful; }
  /// The first date in this form.
  DateTime first(CalendarCode code) const;

  /// The digits of a number: 20240131.13 has the whole number 20240131 and the fraction 13 of 2 digits.
  struct Digits {
    std::int64_t whole = 0;
    std::uint8_t digits = 0, fraction = 0, fraction_digits = 0;
  };

 private:
  struct Finding {
    CalendarCode code = CalendarCode::none;
    bool doubtful = false;
  };
  const Finding& finding() const;
  Finding find() const;

  bool possible_ = true;
  std::vector<Digits> cells_;
  mutable std::optional<Finding> finding_;
};

}  // namespace npzoo
