#include "npzoo/datasets/tables/date_parts.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "npzoo/datasets/tables/clock_text.h"
#include "npzoo/datasets/tables/date_codes.h"
#include "npzoo/datasets/tables/month_names.h"
#include "npzoo/datasets/tables/text_parts.h"
#include "npzoo/engine/io/parse_number.h"
#include "npzoo/engine/io/text.h"

namespace npzoo {

namespace {

using enum DatePart;

constexpr double kPartSecond = 1e9;
constexpr std::int64_t kPartDay = 86'400'000'000'000;
constexpr std::size_t kYearPart = 4;

struct PartName {
  DatePart part;
  std::string_view words;  // between blanks, small
};

constexpr PartName kNames[] = {
    {date, " date datum data fecha dato tanggal "},
    {year, " year yr yyyy yy jahr ano año année annee anno rok år ar jaar "},
    {quarter, " quarter qtr q quartal trimestre trimester kwartal kvartal "},
    {half_year, " half halfyear hy semester semestre semestr halbjahr halvår "},
    {month, " month mon mo mm mth monat mes mês mois mese maand måned månad period "},
    {week, " week wk woche kw semana semaine settimana uke vecka isoweek weeknum "},
    {day, " day dd dy tag dia día jour giorno dag dom mday "},
    {day_of_year, " doy jday julian jul yday dayofyear julday ddd "},
    {hour, " hour hours hh hr hrs h stunde std hora heure ora uur timme godzina he hod "},
    {minute, " minute min mn mi minuto minuut minuten "},
    {second, " second sec ss segundo seconde sekunde "},
    {clock, " time uhrzeit zeit tid tijd hhmm clock orario "},
};

std::optional<double> number_in(std::string_view text) {
  double value = 0;
  const auto [end, error] = parse_number(text, value);
  const bool whole = error == std::errc() && end == text.data() + text.size() && std::isfinite(value);
  return whole && is_digit(text.front()) ? std::optional(value) : std::nullopt;
}

int two(std::string_view digits, std::size_t at) { return 10 * (digits[at] - '0') + digits[at + 1] - '0'; }

/// The date of a cell that holds one by itself.
std::optional<DateTime> date_in(std::string_view cell, DateOrder order, bool short_years) {
  constexpr std::uint8_t kLeastShape = 8, kMostShape = 14;
  if (const auto found = parse_date_time(cell)) return found;
  if (const auto found = parse_number_date(cell); found && found->shape >= kLeastShape && found->shape <= kMostShape)
    return found->time;
  return parse_date_notation(cell, order, short_years);
}

/// The cell padded to `digits`; empty if it has others or more.
std::string padded(std::string_view cell, std::size_t digits) {
  if (!are_digits(cell) || cell.size() > digits) return {};
  return std::string(digits - cell.size(), '0').append(cell);
}

bool is_hhmm(std::string_view cell) {
  const std::string text = padded(cell, 4);
  return !text.empty() && two(text, 0) <= 24 && two(text, 2) <= 59;
}

bool is_hhmmss(std::string_view cell) {
  const std::string text = padded(cell, 6);
  return !text.empty() && two(text, 0) <= 24 && two(text, 2) <= 59 && two(text, 4) <= 59;
}

/// 5 of "00 - 01", H05, h5 and HE5; the cell itself if it is no such hour.
std::string_view hour_text(std::string_view cell) {
  if (cell.size() > 1 && small_letter(cell.front()) == 'h') cell.remove_prefix(small_letter(cell[1]) == 'e' ? 2 : 1);
  const std::size_t dash = cell.find('-');
  if (dash == std::string_view::npos) return cell;
  const std::string_view first = trim(cell.substr(0, dash)), second = trim(cell.substr(dash + 1));
  const auto from = number_in(first), to = number_in(second);
  const bool follows = from && to && (*to == *from + 1 || (*from == 23 && *to == 0));
  return follows ? first : cell;
}

/// 3 of M03, March and 3; 0 for anything else.
int month_in(std::string_view cell) {
  if (const int named = month_of(cell)) return named;
  if (cell.size() > 1 && small_letter(cell.front()) == 'm') cell.remove_prefix(1);
  if (!are_digits(cell) || cell.size() > 2) return 0;
  const int value = cell.size() == 1 ? cell[0] - '0' : two(cell, 0);
  return value <= 12 ? value : 0;
}

/// 3 of Q3, Q03 and 3; 0 for anything else.
int quarter_in(std::string_view cell) {
  if (cell.size() > 1 && small_letter(cell.front()) == 'q') cell.remove_prefix(1);
  if (cell.size() == 2 && cell.front() == '0') cell.remove_prefix(1);
  return cell.size() == 1 && cell[0] >= '1' && cell[0] <= '4' ? cell[0] - '0' : 0;
}

/// 2 of H2, S2, HY2 and 2; 0 for anything else.
int half_year_in(std::string_view cell) {
  for (const std::string_view begin : {"hy", "h", "s"})
    if (cell.size() > begin.size() && std::ranges::equal(cell.substr(0, begin.size()), begin, {}, small_letter)) {
      cell.remove_prefix(begin.size());
      break;
    }
  return cell == "1" ? 1 : cell == "2" ? 2 : 0;
}

/// Minutes from the first time to the second in 13:00-14:00; 0 for anything else.
std::int64_t interval_length(std::string_view cell) {
  constexpr std::int64_t kMinute = 60'000'000'000, kMinutes = 1440;
  const std::size_t dash = cell.find('-');
  if (dash == std::string_view::npos) return 0;
  const std::string_view first = trim(cell.substr(0, dash)), second = trim(cell.substr(dash + 1));
  if (first.find(':') == std::string_view::npos || second.find(':') == std::string_view::npos) return 0;
  const auto from = parse_elapsed(first), to = parse_elapsed(second);
  if (!from || !to) return 0;
  return ((*to - *from) / kMinute + kMinutes) % kMinutes;
}

}  // namespace

DatePart part_named(std::string_view name) {
  std::string word = " ";
  name = trim(name);
  while (!name.empty() && !is_letter(name.front())) name.remove_prefix(1);
  for (std::size_t i = 0; i < name.size() && is_letter(name[i]); ++i) word += small_letter(name[i]);
  word += ' ';
  std::string all;
  for (const char c : name)
    if (is_letter(c)) all += small_letter(c);
  if (all == "dayofyear" || all == "julianday" || all == "yearday") return day_of_year;
  const auto found =
      std::ranges::find_if(kNames, [&](const PartName& n) { return n.words.find(word) != std::string_view::npos; });
  return found == std::end(kNames) ? none : found->part;
}

void PartScan::add(std::string_view cell) {
  dates_ = dates_ && (date_in(cell, order_, false) || parse_date_notation(cell, DateOrder::dmy, true) ||
                      parse_date_notation(cell, DateOrder::mdy, true));
  months_ = months_ && month_in(cell) > 0;
  quarters_ = quarters_ && quarter_in(cell) > 0;
  half_years_ = half_years_ && half_year_in(cell) > 0;
  half_days_ = half_days_ && half_day_in(cell);
  clocks_ = clocks_ && !iso_clock(cell).empty();
  const std::int64_t minutes = intervals_ ? interval_length(cell) : 0;
  intervals_ = minutes > 0 && (length_ == 0 || minutes == length_);
  length_ = minutes;
  const std::string_view text = hour_text(cell);
  const auto value = number_in(text);
  numbers_ = numbers_ && value;
  hhmm_ = hhmm_ && is_hhmm(cell);
  hhmmss_ = hhmmss_ && is_hhmmss(cell);
  if (!value) return;
  fractions_ = fractions_ || *value != std::floor(*value);
  const std::size_t digits = std::min(text.find('.'), text.size());
  fewest_digits_ = std::min(fewest_digits_, digits);
  most_digits_ = std::max(most_digits_, digits);
  least_ = std::min(least_, *value);
  largest_ = std::max(largest_, *value);
  if (!fractions_ && *value >= 0 && *value < static_cast<double>(seen_.size()))
    seen_.set(static_cast<std::size_t>(*value));
}

bool PartScan::may_be(DatePart part) const {
  const auto whole = [this](double low, double high) {
    return numbers_ && !fractions_ && least_ >= low && largest_ <= high;
  };
  const auto all_of = [&](double first, double last) {  // each of these numbers, and no other one
    return whole(first, last) && static_cast<double>(seen_.count()) == last - first + 1;
  };
  switch (part) {
    case none: return false;
    case half_year: return half_years_;
    case half_day: return half_days_;
    case half_hour: return all_of(1, 48);
    case half_hour_from_0: return all_of(0, 47);
    case quarter_hour: return all_of(1, 96);
    case quarter_hour_from_0: return all_of(0, 95);
    case date: return dates_;
    case year: return whole(1000, 2999) && fewest_digits_ == kYearPart;
    case quarter: return quarters_;
    case month: return months_;
    case week: return whole(1, 53);
    case day: return whole(1, 31);
    case day_of_year: return whole(1, 366);
    case hour: return numbers_ && least_ >= 0 && largest_ <= 24 && most_digits_ <= 2;
    case minute: return whole(0, 59);
    case second: return numbers_ && least_ >= 0 && largest_ < 61;
    case clock: return clocks_;
    case clock_interval: return intervals_;
    case hhmm: return hhmm_ && (largest_ > 59 || fewest_digits_ == 4) && most_digits_ <= 4;
    case hhmmss: return hhmmss_ && most_digits_ > 4;
  }
  return false;
}

namespace {

/// Reads parts one after the other.
class PartFinder {
 public:
  PartFinder(std::span<const std::string> names, std::span<const PartScan> scans) : names_(names), scans_(scans) {}

  std::optional<DateParts> find() {
    if (names_.empty() || names_.size() > kMostDateParts) return {};
    const bool found = take(date) || (take(year) && day_of_year_given()) || take_named();
    if (!found) return {};
    if (at_ < names_.size() && !take_time()) return {};
    return at_ == names_.size() ? std::optional(parts_) : std::nullopt;
  }

 private:
  bool may(DatePart part) const { return at_ < names_.size() && scans_[at_].may_be(part); }
  bool named(DatePart part) const { return at_ < names_.size() && part_named(names_[at_]) == part; }
  bool take(DatePart part) {
    if (!may(part)) return false;
    parts_[at_++] = part;
    return true;
  }

  /// Behind a year.
  bool day_of_year_given() {
    if (at_ == names_.size()) return true;
    for (const DatePart part : {day_of_year, week, quarter, half_year})
      if (named(part)) return take(part);
    if (!may(month) && take(half_year)) return true;                                // H1
    if (!named(month) && may(day_of_year) && !may(week)) return take(day_of_year);  // no name, and above 53
    if (!take(month)) return false;
    if (named(hour)) return false;
    take(day);
    return true;
  }

  /// Day, month and year in any order, by their names.
  bool take_named() {
    constexpr std::size_t kDate = 3;
    if (names_.size() < 2) return false;
    at_ = 0;
    parts_ = {};
    bool has_year = false, has_month = false, has_day = false;
    while (at_ < std::min(names_.size(), kDate)) {
      const DatePart part = part_named(names_[at_]);
      bool* seen = part == year ? &has_year : part == month ? &has_month : part == day ? &has_day : nullptr;
      if (seen == nullptr) break;
      if (*seen || !take(part)) return false;
      *seen = true;
    }
    return has_year && has_month;
  }

  bool take_time() {
    if (take(clock_interval)) return true;
    if (take(clock)) return at_ == names_.size() || take(half_day);
    for (const DatePart part : {half_hour, half_hour_from_0, quarter_hour, quarter_hour_from_0})
      if (!named(hour) && take(part)) return true;
    if (!named(hour) && (take(hhmm) || take(hhmmss))) return true;
    if (!take(hour)) return take(hhmm) || take(hhmmss);
    if (at_ < names_.size() && take(half_day)) return true;
    if (at_ < names_.size() && !take(minute)) return false;
    return at_ == names_.size() || take(second);
  }

  std::span<const std::string> names_;
  std::span<const PartScan> scans_;
  DateParts parts_{};
  std::size_t at_ = 0;
};

/// The parts of a date that the cells of a row have given so far.
struct RowDate {
  std::optional<DateTime> date;
  int year = 0, month = 1, day = 1;
  double nanoseconds = 0;
  bool zoned = false;
  std::int64_t days = 0;

  std::optional<DateTime> time() const {
    std::optional<std::int64_t> first = date ? std::optional(date->day) : std::nullopt;
    if (!date) {
      const std::chrono::year_month_day whole{std::chrono::year(year), std::chrono::month(static_cast<unsigned>(month)),
                                              std::chrono::day(static_cast<unsigned>(day))};
      if (whole.ok()) first = std::chrono::sys_days(whole).time_since_epoch().count();
    }
    if (!first) return {};
    const std::int64_t all = (date ? date->nanosecond : 0) + std::llround(nanoseconds);
    std::int64_t more = all / kPartDay;
    if (all % kPartDay < 0) --more;  // a zone may put a time on the day before
    return DateTime{*first + days + more, all - more * kPartDay, zoned || (date && date->zoned)};
  }
};

bool add_days(RowDate& row, DatePart part, std::string_view cell, DateOrder order, bool short_years) {
  const auto value = number_in(cell);
  const int whole = value && *value >= 0 && *value < 10'000 ? static_cast<int>(*value) : 0;
  const auto to_day = [&row](const std::optional<std::int64_t>& found) {
    if (found) row.date = DateTime{*found, 0, false};
    return found.has_value();
  };
  switch (part) {
    case date: row.date = date_in(cell, order, short_years); return row.date.has_value();
    case year: row.year = whole; return cell.size() == kYearPart && whole > 0;
    case month: row.month = month_in(cell); return row.month > 0;
    case half_year: row.month = 6 * half_year_in(cell) - 5; return row.month > 0;
    case quarter: row.month = 3 * quarter_in(cell) - 2; return row.month > 0;
    case day: row.day = whole; return whole >= 1 && whole <= 31;
    case week: return to_day(day_in_week(row.year, whole));
    case day_of_year: return to_day(day_in_year(row.year, whole));
    default: return false;
  }
}

bool add_time(RowDate& row, DatePart part, std::string_view cell) {
  const auto clock_of = [&](const std::string& text) {
    const auto found = text.empty() ? std::nullopt : parse_date_time("1970-01-01T" + text);
    if (!found) return false;
    row.zoned = found->zoned;
    row.nanoseconds += static_cast<double>(found->day * kPartDay + found->nanosecond);
    return true;
  };
  if (part == clock) return clock_of(iso_clock(cell));
  if (part == clock_interval) return clock_of(iso_clock(trim(cell.substr(0, std::min(cell.find('-'), cell.size())))));
  if (part == hhmm || part == hhmmss) {
    std::string text = padded(cell, part == hhmm ? 4 : 6);
    if (text.empty()) return false;
    if (part == hhmmss) text.insert(4, ":");
    return clock_of(text.insert(2, ":"));
  }
  if (part == half_day) {
    constexpr double kPartHour = 3600e9, kNoon = 12 * kPartHour;
    const auto half = half_day_in(cell);
    if (!half || row.nanoseconds < kPartHour || row.nanoseconds >= kNoon + kPartHour) return false;
    if (row.nanoseconds >= kNoon) row.nanoseconds -= kNoon;
    row.nanoseconds += *half * kPartHour;
    return true;
  }
  if (part >= half_hour) {
    const double length = part <= half_hour_from_0 ? 1800 : 900, first = part == half_hour || part == quarter_hour;
    const auto period = number_in(cell);
    if (!period || *period < first || (*period - first) * length >= 86'400) return false;
    row.nanoseconds += (*period - first) * length * kPartSecond;
    return true;
  }
  const auto value = number_in(part == hour ? hour_text(cell) : cell);
  const double most = part == hour ? 24 : part == minute ? 59 : 60.999999999;
  const double seconds = part == hour ? 3600 : part == minute ? 60 : 1;
  if (!value || *value > most || *value < 0) return false;
  row.nanoseconds += *value * seconds * kPartSecond;
  return true;
}

}  // namespace

std::optional<DateParts> parts_of_date(std::span<const std::string> names, std::span<const PartScan> scans) {
  return PartFinder(names, scans).find();
}

JoinedDate join_date(const DateParts& parts, std::span<const std::string_view> cells, DateOrder order,
                     bool short_years) {
  RowDate row;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const bool of_day = parts[i] < hour;
    if (!(of_day ? add_days(row, parts[i], cells[i], order, short_years) : add_time(row, parts[i], cells[i])))
      return {{}, i};
  }
  const auto found = row.time();
  const auto last_of_day = std::ranges::find_if(parts, [](DatePart p) { return p >= hour || p == none; });
  return {found, found ? 0 : static_cast<std::size_t>(last_of_day - parts.begin()) - 1};
}

std::string_view expected_of(DatePart part) {
  switch (part) {
    case date: return "a date as ISO 8601 writes it, or --dates dmy, mdy or ymd";
    case year: return "a year of four digits";
    case quarter: return "a quarter from 1 to 4";
    case half_year: return "a half-year, 1 or 2";
    case half_day: return "AM or PM, behind an hour from 1 to 12";
    case half_hour: return "a half-hour of the day from 1 to 48";
    case half_hour_from_0: return "a half-hour of the day from 0 to 47";
    case quarter_hour: return "a quarter of an hour of the day from 1 to 96";
    case quarter_hour_from_0: return "a quarter of an hour of the day from 0 to 95";
    case month: return "a month from 1 to 12";
    case week: return "a week of that year";
    case day: return "a day of that month";
    case day_of_year: return "a day of that year";
    case hour: return "an hour from 0 to 24";
    case minute: return "a minute from 0 to 59";
    case second: return "a second from 0 to 60";
    default: return "a time of day";
  }
}

}  // namespace npzoo
