#include "npzoo/datasets/tables/date_notations.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "npzoo/datasets/tables/clock_text.h"
#include "npzoo/datasets/tables/date_codes.h"
#include "npzoo/datasets/tables/month_names.h"
#include "npzoo/datasets/tables/text_parts.h"
#include "npzoo/engine/io/text.h"

namespace npzoo {

namespace {

constexpr std::size_t kYearDigits = 4, kShortYearDigits = 2;
constexpr std::size_t kLeastInterval = 8;  // characters at each end

struct Date {
  int year = 0, month = 1, day = 1;
};

int year_of(std::string_view digits) {
  constexpr int kFirst = 69, kCentury = 1900;  // as POSIX reads them
  const int year = value_of_digits(digits);
  if (digits.size() != kShortYearDigits) return year;
  return kCentury + year + (year < kFirst ? 100 : 0);
}

/// 1 to 4 for Q1 to Q4, else 0.
int quarter_of(std::string_view word) {
  return word.size() == 2 && small_letter(word[0]) == 'q' && word[1] >= '1' && word[1] <= '4' ? word[1] - '0' : 0;
}

std::vector<std::string_view> words_of_date(std::string_view text) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t begin = text.find_first_not_of(" -/.,");
    if (begin == std::string_view::npos) return parts;
    text.remove_prefix(begin);
    const std::size_t end = std::min(text.find_first_of(" -/.,"), text.size());
    parts.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
}

std::optional<Date> quarter_date(std::vector<std::string_view> parts) {
  if (parts.size() == 1 && parts[0].size() == kYearDigits + 2)
    parts = {parts[0].substr(0, kYearDigits), parts[0].substr(kYearDigits)};
  if (parts.size() != 2) return {};
  if (quarter_of(parts[0])) std::swap(parts[0], parts[1]);
  if (!quarter_of(parts[1]) || parts[0].size() != kYearDigits || !are_digits(parts[0])) return {};
  return Date{value_of_digits(parts[0]), 3 * quarter_of(parts[1]) - 2, 1};
}

/// A date with the name of its month.
std::optional<Date> named_date(std::vector<std::string_view> parts, DateOrder order, bool short_years) {
  if (!parts.empty() && is_weekday(parts.front())) parts.erase(parts.begin());
  const auto word = std::ranges::find_if(parts, month_of);
  if (word == parts.end()) return {};
  const bool first = word == parts.begin();
  Date date{.month = month_of(*word)};
  parts.erase(word);
  if (!std::ranges::all_of(parts, are_digits)) return {};
  if (parts.size() == 1) {
    if (parts[0].size() != kYearDigits && !(first && parts[0].size() == kShortYearDigits)) return {};
    date.year = year_of(parts[0]);
    return date;
  }
  if (parts.size() != 2) return {};
  const bool year_first = parts[0].size() == kYearDigits || (short_years && order == DateOrder::ymd);
  if (year_first) std::swap(parts[0], parts[1]);
  const std::size_t least = short_years && order != DateOrder::unknown ? kShortYearDigits : kYearDigits;
  if (parts[0].size() > 2 || (parts[1].size() != kYearDigits && parts[1].size() != least)) return {};
  date.day = value_of_digits(parts[0]);
  date.year = year_of(parts[1]);
  return date;
}

std::optional<Date> numbers_date(std::string_view text, DateOrder order, bool short_years) {
  const char separator = text[std::min(text.find_first_of("-/."), text.size() - 1)];
  const std::vector<std::string_view> parts = words_of_date(text);
  if (parts.size() != 3 || !std::ranges::all_of(parts, are_digits) || std::ranges::count(text, separator) != 2 ||
      text.find_first_not_of("0123456789-/.") != std::string_view::npos)
    return {};
  const auto is_year = [&](std::string_view part) {
    return part.size() == kYearDigits || (short_years && part.size() == kShortYearDigits);
  };
  const auto is_part = [](std::string_view part) { return part.size() <= 2; };
  if (parts[0].size() == kYearDigits || order == DateOrder::ymd) {
    if (!is_year(parts[0]) || !is_part(parts[1]) || !is_part(parts[2])) return {};
    return Date{year_of(parts[0]), value_of_digits(parts[1]), value_of_digits(parts[2])};
  }
  if (order == DateOrder::unknown || !is_year(parts[2]) || !is_part(parts[0]) || !is_part(parts[1])) return {};
  const bool day_first = order == DateOrder::dmy;
  return Date{year_of(parts[2]), value_of_digits(parts[day_first ? 1 : 0]), value_of_digits(parts[day_first ? 0 : 1])};
}

/// As iso_clock, and 13.05, which is a number by itself.
std::string clock_behind_date(std::string_view text) {
  constexpr std::size_t kMostHourDigits = 2, kMinutes = 3;
  const std::size_t point = text.find('.');
  const bool pointed = point != std::string_view::npos && point >= 1 && point <= kMostHourDigits &&
                       text.size() == point + kMinutes && are_digits(text.substr(0, point)) &&
                       are_digits(text.substr(point + 1));
  return pointed ? iso_clock(fmt::format("{}:{}", text.substr(0, point), text.substr(point + 1))) : iso_clock(text);
}

/// Returns where the time of day begins in 2020/01/05 13:05, 5.1.2020 13.05.00 and 5 Jan 2020 1 PM; npos without one.
std::size_t time_begin(std::string_view text) {
  const auto is_gap = [](char c) { return c == ' ' || c == 'T' || c == 't' || c == '_'; };
  const std::size_t colon = text.find(':');
  for (std::size_t at = std::min(colon, text.size()); at-- > 0;) {
    if (!is_gap(text[at]) || at + 1 == text.size()) continue;
    if (colon != std::string_view::npos || !clock_behind_date(trim(text.substr(at + 1))).empty()) return at;
  }
  return std::string_view::npos;
}

/// Texts of other programs as the functions below read them: Fri Mar 29 13:00:00 UTC 2024, [29/Mar/2024:13:00:00
/// +0100], 2018Jan and Jan '19. Empty for others.
std::string rewritten(std::string_view text) {
  constexpr std::size_t kTime = 11;
  if (text.starts_with('[') && text.ends_with(']')) text = text.substr(1, text.size() - 2);
  const std::size_t colon = text.find(':');
  if (colon == kTime && text[2] == '/' && text[6] == '/')
    return fmt::format("{} {}", text.substr(0, colon), text.substr(colon + 1));
  if (const std::size_t mark = text.find('\''); mark != std::string_view::npos && mark > 2 && mark + 3 == text.size())
    return fmt::format("{}{}{}", text.substr(0, mark), text[mark - 1] == ' ' ? "" : " ", text.substr(mark + 1));
  if (text.size() > kYearDigits + 2 && text.find(' ') == std::string_view::npos &&
      are_digits(text.substr(0, kYearDigits)) && month_of(text.substr(kYearDigits)) > 0)
    return fmt::format("{} {}", text.substr(kYearDigits), text.substr(0, kYearDigits));
  const std::size_t year = text.size() > kYearDigits ? text.size() - kYearDigits : 0;
  if (colon == std::string_view::npos || colon > year || year == 0 || text[year - 1] != ' ' ||
      !are_digits(text.substr(year)) || !is_letter(text.front()))
    return {};
  const std::size_t time = text.rfind(' ', colon);
  if (time == std::string_view::npos) return {};
  return fmt::format("{} {}{}", text.substr(0, time), text.substr(year), text.substr(time, year - 1 - time));
}

/// A date with a time of day or without.
std::optional<DateTime> parse_one(std::string_view text, DateOrder order, bool short_years) {
  if (const std::string other = rewritten(text); !other.empty()) return parse_one(other, order, short_years);
  if (const auto code = parse_date_code(text)) return code;
  std::string_view day = text;
  std::string time;
  if (const std::size_t gap = time_begin(text); gap != std::string_view::npos) {
    day = trim(text.substr(0, gap));
    if (day.ends_with(',')) day.remove_suffix(1);  // 29.03.2024, 13:00
    time = clock_behind_date(trim(text.substr(gap + 1)));
    if (time.empty() || day.empty()) return {};
  } else if (text.find(':') != std::string_view::npos) {
    return {};
  }
  const std::vector<std::string_view> parts = words_of_date(day);
  std::optional<Date> date = numbers_date(day, order, short_years);
  if (!date) date = named_date(parts, order, short_years);
  if (!date && time.empty()) date = quarter_date(parts);
  if (!date) return {};
  return parse_date_time(
      fmt::format("{:04}-{:02}-{:02}{}{}", date->year, date->month, date->day, time.empty() ? "" : "T", time));
}

/// The beginning and the end of an interval such as 01.03.2024 00:00 - 01.03.2024 01:00; empty texts for others.
std::array<std::string_view, 2> interval_in(std::string_view text) {
  for (const std::string_view between : {" - ", " \xE2\x80\x93 ", " to ", "/"}) {
    const std::size_t at = text.find(between);
    if (at == std::string_view::npos) continue;
    const std::string_view end = trim(text.substr(at + between.size()));
    if (at >= kLeastInterval && end.size() >= kLeastInterval) return {trim(text.substr(0, at)), end};
  }
  return {};
}

}  // namespace

DateOrder date_order_named(std::string_view name) {
  return name == "dmy"   ? DateOrder::dmy
         : name == "mdy" ? DateOrder::mdy
         : name == "ymd" ? DateOrder::ymd
                         : DateOrder::unknown;
}

std::optional<DateTime> parse_date_notation(std::string_view text, DateOrder order, bool short_years) {
  constexpr std::size_t kShortest = 4, kLongest = 64;
  if (text.size() < kShortest || text.size() > kLongest || text.find_first_of("0123456789") == std::string_view::npos)
    return {};
  if (const auto found = parse_one(text, order, short_years)) return found;
  const auto [begin, end] = interval_in(text);
  if (begin.empty()) return {};
  const auto parse = [&](std::string_view part) {
    const auto iso = parse_date_time(part);
    return iso ? iso : parse_one(part, order, short_years);
  };
  const auto first = parse(begin), second = parse(end);
  const bool ordered = first && second && first->zoned == second->zoned &&
                       days_since(first->day, *second) >= days_since(first->day, *first);
  return ordered ? first : std::nullopt;
}

}  // namespace npzoo
