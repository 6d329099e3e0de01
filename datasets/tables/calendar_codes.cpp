#include "npzoo/datasets/tables/calendar_codes.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <span>

#include "npzoo/datasets/tables/date_codes.h"
#include "npzoo/datasets/tables/text_parts.h"

namespace npzoo {

// Short names such as those of CalendarCode stay here: files are compiled together.
namespace calendar {

namespace {

using enum CalendarCode;
using Digits = CalendarCodes::Digits;

constexpr std::array kCodes = {day_month_year,    month_day_year,    short_day,       short_hour,
                               short_month,       short_day_of_year, short_day_month, short_month_day,
                               month_year,        year_month,        year_week,       year_quarter,
                               year_zero_quarter, point_quarter,     day_hour,        month_day};
constexpr std::int64_t kHour = 3'600'000'000'000;
constexpr std::size_t kFewestCells = 6, kFewestSure = 3;

/// The place of a number in a calendar: its count in the steps of its form, and its time.
struct Place {
  std::int64_t count = 0;  // of hours, days, weeks, months or quarters
  DateTime time;
};

int century_year(int year) { return year < 69 ? 2000 + year : 1900 + year; }  // as POSIX reads two digits

std::optional<Digits> digits_in(std::string_view text) {
  constexpr std::size_t kFewest = 3, kMost = 8, kFewestBeforeZero = 5, kYear = 4;
  if (text.ends_with(".0") && text.size() >= kFewestBeforeZero + 2) text.remove_suffix(2);
  const std::size_t point = std::min(text.find('.'), text.size());
  const std::string_view whole = text.substr(0, point), behind = text.substr(std::min(point + 1, text.size()));
  if (!are_digits(whole) || whole.size() < kFewest || whole.size() > kMost) return {};
  if (point < text.size() && (!are_digits(behind) || behind.size() > 2)) return {};
  if (point < text.size() && whole.size() != kYear && whole.size() != kMost) return {};
  Digits found{.digits = static_cast<std::uint8_t>(whole.size()),
               .fraction = static_cast<std::uint8_t>(value_of_digits(behind)),
               .fraction_digits = static_cast<std::uint8_t>(behind.size())};
  for (const char c : whole) found.whole = 10 * found.whole + (c - '0');
  return found;
}

std::optional<Place> at_day(const std::optional<std::int64_t>& day) {
  return day ? std::optional(Place{*day, {*day, 0, false}}) : std::nullopt;
}

std::optional<Place> at_hour(const std::optional<std::int64_t>& day, int hour) {
  if (!day || hour > 23) return {};
  return Place{*day * 24 + hour, {*day, hour * kHour, false}};
}

/// Part 1 to `parts` of a year.
std::optional<Place> at_part(int year, int part, int parts) {
  constexpr int kFirstYear = 1800, kLastYear = 2199, kMonths = 12;
  if (year < kFirstYear || year > kLastYear || part < 1 || part > parts) return {};
  return Place{year * parts + part, {*day_in_calendar(year, (part - 1) * (kMonths / parts) + 1, 1), 0, false}};
}

std::optional<Place> at_date(int year, int month, int day) {
  constexpr int kFirstYear = 1800, kLastYear = 2199;
  return year >= kFirstYear && year <= kLastYear ? at_day(day_in_calendar(year, month, day)) : std::nullopt;
}

/// The place of a number without a fraction.
std::optional<Place> whole_place(const Digits& cell, CalendarCode code) {
  const auto n = static_cast<int>(cell.whole);
  const int size = cell.digits;
  const int low = n % 100, middle = n / 100 % 100, high = n / 10'000 % 100;
  switch (code) {
    case day_month_year: return size >= 7 ? at_date(n % 10'000, high, n / 1'000'000) : std::nullopt;
    case month_day_year: return size >= 7 ? at_date(n % 10'000, n / 1'000'000, high) : std::nullopt;
    case short_day: return size == 6 ? at_date(century_year(high), middle, low) : std::nullopt;
    case short_hour:
      return size == 8 ? at_hour(day_in_calendar(century_year(n / 1'000'000), high, middle), low) : std::nullopt;
    case short_month: return size == 4 ? at_part(century_year(middle), low, 12) : std::nullopt;
    case short_day_of_year: return size == 5 ? at_day(day_in_year(century_year(n / 1000), n % 1000)) : std::nullopt;
    case short_day_month: return size == 5 || size == 6 ? at_date(century_year(low), middle, high) : std::nullopt;
    case short_month_day: return size == 5 || size == 6 ? at_date(century_year(low), high, middle) : std::nullopt;
    case month_year: return size == 5 || size == 6 ? at_part(n % 10'000, n / 10'000, 12) : std::nullopt;
    case year_month:
      if (size == 5) return at_part(n / 10, n % 10, 12);
      return size == 6 && low >= 10 ? at_part(n / 100, low, 12) : std::nullopt;
    case year_week: {
      const auto found =
          size == 6 && n / 100 >= 1800 && n / 100 <= 2199 ? at_day(day_in_week(n / 100, low)) : std::nullopt;
      return found ? std::optional(Place{found->count / 7, found->time}) : std::nullopt;
    }
    case year_quarter: return size == 5 ? at_part(n / 10, n % 10, 4) : std::nullopt;
    case year_zero_quarter: return size == 6 ? at_part(n / 100, low, 4) : std::nullopt;
    case month_day: return size <= 4 ? at_day(day_in_calendar(2000, middle, low)) : std::nullopt;
    default: return {};
  }
}

std::optional<Place> place_of(const Digits& cell, CalendarCode code) {
  const int tens = cell.fraction * (cell.fraction_digits == 1 ? 10 : 1);  // 20240131.1 is 20240131.10 without its zero
  const auto n = static_cast<int>(cell.whole);
  if (code == point_quarter)
    return cell.fraction_digits == 1 && cell.digits == 4 ? at_part(n, cell.fraction, 4) : std::nullopt;
  if (code == day_hour)
    return cell.digits == 8 ? at_hour(day_in_calendar(n / 10'000, n / 100 % 100, n % 100), tens) : std::nullopt;
  return cell.fraction_digits == 0 ? whole_place(cell, code) : std::nullopt;
}

/// How many steps between sorted different numbers are the commonest one.
std::size_t equal_steps(std::vector<std::int64_t> counts) {
  std::ranges::sort(counts);
  counts.erase(std::unique(counts.begin(), counts.end()), counts.end());
  if (counts.size() < 2) return 0;
  for (std::size_t i = 0; i + 1 < counts.size(); ++i) counts[i] = counts[i + 1] - counts[i];
  counts.pop_back();
  std::ranges::sort(counts);
  std::size_t most = 0;
  for (std::size_t i = 0, begin = 0; i < counts.size(); ++i) {
    if (counts[i] != counts[begin]) begin = i;
    most = std::max(most, i - begin + 1);
  }
  return most;
}

std::chrono::year_month_day date_of(std::int64_t day) {
  return std::chrono::year_month_day(std::chrono::sys_days(std::chrono::days(day)));
}

/// Days as months, if all are one day of the month, or its last one; else the days.
std::vector<std::int64_t> in_months(const std::vector<std::int64_t>& days) {
  std::vector<std::int64_t> months;
  const auto first = date_of(days[0]).day();
  bool alike = true, ends = true;
  for (const std::int64_t day : days) {
    const auto date = date_of(day);
    alike = alike && date.day() == first;
    ends = ends && date_of(day + 1).day() == std::chrono::day(1);
    months.push_back(static_cast<int>(date.year()) * 12 + static_cast<std::int64_t>(unsigned{date.month()}));
  }
  return alike || ends ? months : days;
}

/// Forms with a year of four digits come first.
bool has_short_year(CalendarCode code) { return (code >= short_day && code <= short_month_day) || code == month_day; }

bool counts_days(CalendarCode code) {
  return code == day_month_year || code == month_day_year || code == short_day || code == short_day_of_year ||
         code == short_day_month || code == short_month_day;
}

std::size_t different(std::vector<std::int64_t> counts) {
  std::ranges::sort(counts);
  return static_cast<std::size_t>(std::unique(counts.begin(), counts.end()) - counts.begin());
}

/// The places of all cells; empty if one has none.
std::vector<std::int64_t> counts_in(std::span<const Digits> cells, CalendarCode code) {
  std::vector<std::int64_t> counts;
  for (const Digits& cell : cells) {
    const auto place = place_of(cell, code);
    if (!place) return {};
    counts.push_back(place->count);
  }
  return counts_days(code) ? in_months(counts) : counts;
}

}  // namespace

}  // namespace calendar

std::optional<DateTime> parse_calendar_code(std::string_view text, std::uint8_t shape) {
  using namespace calendar;
  const auto code = static_cast<CalendarCode>(shape);
  const auto cell = code == CalendarCode::month_day ? std::nullopt : digits_in(text);
  const auto place = cell ? place_of(*cell, code) : std::nullopt;
  return place ? std::optional(place->time) : std::nullopt;
}

bool may_be_calendar_code(std::string_view text) {
  using namespace calendar;
  const auto cell = digits_in(text);
  return cell && std::ranges::any_of(kCodes, [&](CalendarCode code) { return place_of(*cell, code).has_value(); });
}

void CalendarCodes::add(std::string_view text) {
  if (!possible_) return;
  possible_ = may_be_calendar_code(text);
  finding_.reset();
  if (possible_)
    cells_.push_back(*calendar::digits_in(text));
  else
    cells_ = {};
}

DateTime CalendarCodes::first(CalendarCode code) const {
  const auto place = cells_.empty() ? std::nullopt : calendar::place_of(cells_[0], code);
  return place ? place->time : DateTime();
}

const CalendarCodes::Finding& CalendarCodes::finding() const {
  if (!finding_) finding_ = find();
  return *finding_;
}

CalendarCodes::Finding CalendarCodes::find() const {
  using namespace calendar;
  using enum CalendarCode;
  constexpr std::size_t kShare = 7, kOf = 10;  // of the steps are equal
  if (cells_.size() < kFewestSure) return {};
  std::vector<std::int64_t> plain;
  for (const Digits& c : cells_) plain.push_back(100 * c.whole + c.fraction * (c.fraction_digits == 1 ? 10 : 1));
  const std::size_t of_plain = equal_steps(plain), steps = different(plain) - 1;
  if (steps + 1 < kFewestSure) return {};
  Finding best;
  std::size_t most = of_plain;
  std::vector<CalendarCode> fitting;
  for (const CalendarCode code : kCodes) {
    const std::vector<std::int64_t> counts = counts_in(cells_, code);
    if (counts.empty()) continue;
    fitting.push_back(code);
    const std::size_t equal = equal_steps(counts);
    if (steps + 1 < kFewestCells || kOf * equal < kShare * steps || equal < most) continue;
    if (equal == most && (best.code == none || has_short_year(code) > has_short_year(best.code))) continue;
    const bool tie = equal == most && has_short_year(code) == has_short_year(best.code);
    if (!tie) best = {code, false};
    best.doubtful = best.doubtful || tie;
    most = equal;
  }
  if (best.code == month_day) best.doubtful = true;
  if (best.code != none) return {best.doubtful ? none : best.code, best.doubtful};
  // Seven or eight digits that end in a year are hardly ever anything else.
  const bool day_first = std::ranges::find(fitting, day_month_year) != fitting.end(),
             month_first = std::ranges::find(fitting, month_day_year) != fitting.end();
  if (day_first != month_first) return {day_first ? day_month_year : month_day_year, false};
  return {none, day_first && fitting.size() == 2};
}

}  // namespace npzoo
