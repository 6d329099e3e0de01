#include "npzoo/datasets/tables/date_codes.h"

#include <algorithm>
#include <array>
#include <string>

#include "npzoo/datasets/tables/clock_text.h"
#include "npzoo/datasets/tables/text_parts.h"
#include "npzoo/engine/io/text.h"

namespace npzoo {

namespace {

constexpr std::size_t kCodeYear = 4;
constexpr int kFirstYear = 1800, kLastYear = 2199;
constexpr std::int64_t kCodeSecond = 1'000'000'000;
// Shapes of numbers without a point are their numbers of digits.
constexpr std::uint8_t kMonthShape = 6, kDayOfYearShape = 7, kLongestShape = 14, kYearPointMonth = 20,
                       kMonthPointYear = 21;

std::optional<DateTime> at_day(const std::optional<std::int64_t>& day) {
  return day ? std::optional(DateTime{*day, 0, false}) : std::nullopt;
}

/// The part of a year that a letter names: M01, Q3, W05.
std::optional<std::int64_t> day_of_part(int year, char letter, std::string_view digits) {
  if (!are_digits(digits) || digits.size() > 3) return {};
  const int part = value_of_digits(digits);
  switch (letter) {
    case 'm': return digits.size() <= 2 ? day_in_calendar(year, part, 1) : std::nullopt;
    case 'q':
    case 'k':
    case 't':  // trimestre
      return digits.size() == 1 && part >= 1 && part <= 4 ? day_in_calendar(year, 3 * part - 2, 1) : std::nullopt;
    case 'h':
    case 's':
      return digits.size() == 1 && part >= 1 && part <= 2 ? day_in_calendar(year, 6 * part - 5, 1) : std::nullopt;
    case 'd': return digits.size() == 3 ? day_in_year(year, part) : std::nullopt;
    case 'w':
    case 'u':
    case 'v':
      if (digits.size() <= 2) return day_in_week(year, part);
      return day_in_week(year, part / 10, part % 10);  // 2024W053
    default: return {};
  }
}

/// 2018M01, 2018-Q3, 2024-W05-3, 2018 KW05.
std::optional<DateTime> year_and_part(std::string_view text) {
  if (text.size() <= kCodeYear + 1 || !are_digits(text.substr(0, kCodeYear))) return {};
  const int year = value_of_digits(text.substr(0, kCodeYear));
  text.remove_prefix(kCodeYear);
  if (text.front() == '-' || text.front() == ' ' || text.front() == '/' || text.front() == ':') text.remove_prefix(1);
  if (text.size() < 2) return {};
  char letter = small_letter(text.front());
  if (letter == 'k' && small_letter(text[1]) == 'w') letter = 'w', text.remove_prefix(1);
  text.remove_prefix(1);
  if (letter == 'w' && text.size() == 4 && text[2] == '-' && is_digit(text[3]) && are_digits(text.substr(0, 2)))
    return at_day(day_in_week(year, value_of_digits(text.substr(0, 2)), text[3] - '0'));
  return at_day(day_of_part(year, letter, text));
}

/// Q3/2018, 3Q 2018, M01-2018, W05/2024.
std::optional<DateTime> part_and_year(std::string_view text) {
  if (text.size() < kCodeYear + 2 || !are_digits(text.substr(text.size() - kCodeYear))) return {};
  const int year = value_of_digits(text.substr(text.size() - kCodeYear));
  text.remove_suffix(kCodeYear);
  if (!text.empty() && (text.back() == '-' || text.back() == ' ' || text.back() == '/')) text.remove_suffix(1);
  if (text.size() == 2 && is_digit(text[0]) && (small_letter(text[1]) == 'q' || small_letter(text[1]) == 't'))
    return at_day(day_of_part(year, 'q', text.substr(0, 1)));
  if (text.size() > 2 && small_letter(text[0]) == 'k' && small_letter(text[1]) == 'w')  // KW 49 2022
    return at_day(day_of_part(year, 'w', trim(text.substr(2))));
  if (text.size() < 2) return {};
  return at_day(day_of_part(year, small_letter(text[0]), text.substr(1)));
}

/// Q1-05, Q1'05 and 1Q05: the years of two digits are 1969 to 2068.
std::optional<DateTime> quarter_of_short_year(std::string_view text) {
  constexpr std::size_t kShortest = 4, kLongest = 5, kYear = 2;
  if (text.size() < kShortest || text.size() > kLongest || !are_digits(text.substr(text.size() - kYear))) return {};
  const int year = value_of_digits(text.substr(text.size() - kYear));
  std::string_view quarter = text.substr(0, 2);
  if (text.size() == kLongest && std::string_view("-' /").find(text[2]) == std::string_view::npos) return {};
  if (small_letter(quarter[1]) == 'q')
    quarter = quarter.substr(0, 1);
  else if (small_letter(quarter[0]) == 'q')
    quarter = quarter.substr(1);
  else
    return {};
  return at_day(day_of_part(year < 69 ? 2000 + year : 1900 + year, 'q', quarter));
}

/// 01/2018, 1-2018, 2018/01, 2018_01.
std::optional<DateTime> month_beside_year(std::string_view text) {
  const std::size_t mark = text.find_first_of("/-_");
  if (mark == std::string_view::npos) return {};
  const std::string_view first = text.substr(0, mark), second = text.substr(mark + 1);
  if (!are_digits(first) || !are_digits(second)) return {};
  if (first.size() == kCodeYear && second.size() <= 2)
    return at_day(day_in_calendar(value_of_digits(first), value_of_digits(second), 1));
  if (second.size() == kCodeYear && first.size() <= 2)
    return at_day(day_in_calendar(value_of_digits(second), value_of_digits(first), 1));
  return {};
}

/// The day of a time that is zoned or not.
std::optional<DateTime> at_clock(std::int64_t day, const std::string& clock) {
  const auto time = parse_date_time("1970-01-01T" + clock);
  if (!time) return {};
  return DateTime{day + time->day, time->nanosecond, time->zoned};
}

/// 2024-020, and with a time: 2024-020T13:00, 2024/020 13:00.
std::optional<DateTime> dashed_day_in_year(std::string_view text) {
  constexpr std::size_t kSize = 8;
  if (text.size() > kSize + 1 && (text[kSize] == 'T' || text[kSize] == ' ')) {
    std::string day(text.substr(0, kSize));
    if (day[kCodeYear] == '/') day[kCodeYear] = '-';
    const auto found = dashed_day_in_year(day);
    const std::string clock = iso_clock(trim(text.substr(kSize + 1)));
    return found && !clock.empty() ? at_clock(found->day, clock) : std::nullopt;
  }
  if (text.size() != kSize || text[kCodeYear] != '-' || !are_digits(text.substr(0, kCodeYear)) ||
      !are_digits(text.substr(kCodeYear + 1)))
    return {};
  return at_day(day_in_year(value_of_digits(text.substr(0, kCodeYear)), value_of_digits(text.substr(kCodeYear + 1))));
}

/// A time of digits, 01, 0130 or 013000[.5], with Z or an offset behind, as text with colons; empty if it is none.
std::string basic_clock(std::string_view text) {
  const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  if (digits != 2 && digits != 4 && digits != 6) return {};
  const std::string_view rest = text.substr(digits);
  if (!rest.empty() && std::string_view(digits == 6 ? "Zz+-.," : "Zz+-").find(rest.front()) == std::string_view::npos)
    return {};
  std::string clock(text.substr(0, 2));
  clock += ':';
  clock += digits > 2 ? text.substr(2, 2) : std::string_view("00");
  if (digits == 6) {
    clock += ':';
    clock += text.substr(4, 2);
  }
  return clock.append(rest);
}

/// 20240120T013000Z, 20240120 0130, 20240120_01, 20240120 1:30 PM.
std::optional<DateTime> basic_date(std::string_view text) {
  constexpr std::size_t kSize = 8;
  if (text.size() < kSize + 3 || !are_digits(text.substr(0, kSize))) return {};
  const auto day = day_in_calendar(value_of_digits(text.substr(0, kCodeYear)), value_of_digits(text.substr(4, 2)),
                                   value_of_digits(text.substr(6, 2)));
  const char mark = text[kSize];
  if (!day || (mark != 'T' && mark != 't' && mark != ' ' && mark != '_' && mark != '-' && mark != ':')) return {};
  const std::string_view time = trim(text.substr(kSize + 1));
  std::string clock = basic_clock(time);
  if (clock.empty()) clock = iso_clock(time);
  return clock.empty() ? std::nullopt : at_clock(*day, clock);
}

/// 2024-01-20T01, 2024-01-20 01Z, 2024-01-20T0130.
std::optional<DateTime> hour_alone(std::string_view text) {
  constexpr std::size_t kSize = 10;
  if (text.size() < kSize + 3 || (text[kSize] != 'T' && text[kSize] != 't' && text[kSize] != ' ')) return {};
  const auto day = parse_date_time(text.substr(0, kSize));
  if (!day) return {};
  const std::string clock = basic_clock(text.substr(kSize + 1));
  return clock.empty() ? std::nullopt : at_clock(day->day, clock);
}

/// 01JAN2024, 01jan2024:13:30:00.
std::optional<DateTime> month_within_digits(std::string_view text) {
  constexpr std::array<std::string_view, 12> kMonths = {"jan", "feb", "mar", "apr", "may", "jun",
                                                        "jul", "aug", "sep", "oct", "nov", "dec"};
  const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  if (digits == 0 || digits > 2 || text.size() < digits + 3 + kCodeYear) return {};
  std::string word(text.substr(digits, 3));
  std::ranges::transform(word, word.begin(), small_letter);
  const auto month = std::ranges::find(kMonths, word);
  const std::string_view year = text.substr(digits + 3, kCodeYear), rest = text.substr(digits + 3 + kCodeYear);
  if (month == kMonths.end() || !are_digits(year)) return {};
  const auto day = day_in_calendar(value_of_digits(year), static_cast<int>(month - kMonths.begin()) + 1,
                                   value_of_digits(text.substr(0, digits)));
  if (!day || rest.empty()) return at_day(day);
  if (rest.front() != ':' && rest.front() != ' ') return {};
  const std::string clock = iso_clock(rest.substr(1));
  return clock.empty() ? std::nullopt : at_clock(*day, clock);
}

std::optional<NumberDate> pointed_date(std::string_view text) {
  const std::size_t point = text.find('.');
  if (point == std::string_view::npos) return {};
  const std::string_view first = text.substr(0, point), second = text.substr(point + 1);
  if (!are_digits(first) || !are_digits(second)) return {};
  const bool year_first = first.size() == kCodeYear;
  const std::string_view year = year_first ? first : second, month = year_first ? second : first;
  if (year.size() != kCodeYear || month.empty() || month.size() > 2) return {};
  if (!year_first && month.size() != 2) return {};
  const bool no_zero = year_first && month.size() == 1;  // 2024.1 is 2024.10 without the zero at its end
  const int number = value_of_digits(month) * (no_zero ? 10 : 1);
  const int in_year = value_of_digits(year);
  const auto day = in_year >= kFirstYear && in_year <= kLastYear ? day_in_calendar(in_year, number, 1) : std::nullopt;
  if (!day) return {};
  return NumberDate{{*day, 0, false}, year_first ? kYearPointMonth : kMonthPointYear};
}

}  // namespace

std::optional<std::int64_t> day_in_week(int year, int week, int day) {
  constexpr int kMostWeeks = 53;
  if (week < 1 || week > kMostWeeks || day < 1 || day > 7) return {};
  const auto first_monday_of = [](int of) {  // of the week of January 4
    const std::int64_t fourth = *day_in_calendar(of, 1, 4);
    const std::int64_t weekday = ((fourth + 3) % 7 + 7) % 7;  // of Monday: 0
    return fourth - weekday;
  };
  const std::int64_t monday = first_monday_of(year) + 7 * (week - 1);
  if (monday >= first_monday_of(year + 1)) return {};
  return monday + day - 1;
}

std::optional<std::int64_t> day_in_year(int year, int day) {
  const std::int64_t first = *day_in_calendar(year, 1, 1);
  return day >= 1 && first + day - 1 < *day_in_calendar(year + 1, 1, 1) ? std::optional(first + day - 1) : std::nullopt;
}

std::optional<DateTime> parse_date_code(std::string_view text) {
  constexpr std::size_t kShortest = 6, kLongest = 40;
  if (const auto quarter = quarter_of_short_year(text)) return quarter;
  if (text.size() < kShortest || text.size() > kLongest) return {};
  for (const auto parse : {year_and_part, part_and_year, month_beside_year, dashed_day_in_year, basic_date, hour_alone,
                           month_within_digits})
    if (const auto found = parse(text)) return found;
  return {};
}

std::optional<NumberDate> parse_number_date(std::string_view text) {
  if (text.size() < kMonthShape || text.size() > kLongestShape + 2) return {};
  if (text.ends_with(".0") && text.size() > kMonthShape + 1)
    text.remove_suffix(2);  // as pandas writes a column with gaps
  if (!are_digits(text)) return pointed_date(text);
  if (text.size() > kLongestShape) return {};
  const auto two = [&](std::size_t at) { return at + 2 <= text.size() ? value_of_digits(text.substr(at, 2)) : 0; };
  const int year = value_of_digits(text.substr(0, kCodeYear));
  if (year < kFirstYear || year > kLastYear) return {};
  const auto shape = static_cast<std::uint8_t>(text.size());
  if (shape == kDayOfYearShape) {
    const auto day = day_in_year(year, value_of_digits(text.substr(kCodeYear)));
    return day ? std::optional(NumberDate{{*day, 0, false}, shape}) : std::nullopt;
  }
  if (shape % 2 != 0) return {};
  const auto day = day_in_calendar(year, two(4), shape == kMonthShape ? 1 : two(6));
  const int hour = two(8), minute = two(10), second = two(12);
  if (!day || hour > 24 || minute > 59 || second > 59 || (hour == 24 && minute + second > 0)) return {};
  return NumberDate{{*day + hour / 24, (3600LL * (hour % 24) + 60 * minute + second) * kCodeSecond, false}, shape};
}

std::int64_t fewest_rows(std::uint8_t shape) {
  if (shape == kDayOfYearShape) return 12;
  return shape == kMonthShape || shape == kYearPointMonth || shape == kMonthPointYear ? 3 : 2;
}

}  // namespace npzoo
