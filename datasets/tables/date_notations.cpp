#include "npzoo/datasets/tables/date_notations.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "npzoo/engine/io/text.h"

namespace npzoo {

namespace {

constexpr std::size_t kYearDigits = 4, kShortYearDigits = 2;

char small(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }
bool is_number(std::string_view text) { return !text.empty() && std::ranges::all_of(text, is_digit); }

bool equals(std::string_view text, std::string_view lower) {
  return std::ranges::equal(text, lower, [](char a, char b) { return small(a) == b; });
}

int value_of(std::string_view digits) {
  int value = 0;
  for (const char c : digits.substr(0, 5)) value = 10 * value + (c - '0');
  return value;
}

struct Date {
  int year = 0, month = 1, day = 1;
};

int year_of(std::string_view digits) {
  constexpr int kFirst = 69, kCentury = 1900;  // as POSIX reads them
  const int year = value_of(digits);
  if (digits.size() != kShortYearDigits) return year;
  return kCentury + year + (year < kFirst ? 100 : 0);
}

/// The number of a month by its name or the first three letters of it; 0 for any other word.
int month_of(std::string_view word) {
  constexpr std::array<std::string_view, 12> kMonths = {"january",   "february", "march",    "april",
                                                        "may",       "june",     "july",     "august",
                                                        "september", "october",  "november", "december"};
  constexpr std::size_t kLetters = 3;
  for (std::size_t m = 0; m < kMonths.size(); ++m)
    if (equals(word, kMonths[m]) || equals(word, kMonths[m].substr(0, kLetters))) return static_cast<int>(m) + 1;
  return 0;
}

/// 1 to 4 for Q1 to Q4, else 0.
int quarter_of(std::string_view word) {
  return word.size() == 2 && small(word[0]) == 'q' && word[1] >= '1' && word[1] <= '4' ? word[1] - '0' : 0;
}

std::vector<std::string_view> parts_of(std::string_view text) {
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
  if (!quarter_of(parts[1]) || parts[0].size() != kYearDigits || !is_number(parts[0])) return {};
  return Date{value_of(parts[0]), 3 * quarter_of(parts[1]) - 2, 1};
}

/// A date with the name of its month.
std::optional<Date> named_date(std::vector<std::string_view> parts, DateOrder order, bool short_years) {
  const auto word = std::ranges::find_if(parts, month_of);
  if (word == parts.end()) return {};
  const bool first = word == parts.begin();
  Date date{.month = month_of(*word)};
  parts.erase(word);
  if (!std::ranges::all_of(parts, is_number)) return {};
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
  date.day = value_of(parts[0]);
  date.year = year_of(parts[1]);
  return date;
}

std::optional<Date> numbers_date(std::string_view text, DateOrder order, bool short_years) {
  const char separator = text[std::min(text.find_first_of("-/."), text.size() - 1)];
  const std::vector<std::string_view> parts = parts_of(text);
  if (parts.size() != 3 || !std::ranges::all_of(parts, is_number) || std::ranges::count(text, separator) != 2 ||
      text.find_first_not_of("0123456789-/.") != std::string_view::npos)
    return {};
  const auto is_year = [&](std::string_view part) {
    return part.size() == kYearDigits || (short_years && part.size() == kShortYearDigits);
  };
  const auto is_part = [](std::string_view part) { return part.size() <= 2; };
  if (parts[0].size() == kYearDigits || order == DateOrder::ymd) {
    if (!is_year(parts[0]) || !is_part(parts[1]) || !is_part(parts[2])) return {};
    return Date{year_of(parts[0]), value_of(parts[1]), value_of(parts[2])};
  }
  if (order == DateOrder::unknown || !is_year(parts[2]) || !is_part(parts[0]) || !is_part(parts[1])) return {};
  const bool day_first = order == DateOrder::dmy;
  return Date{year_of(parts[2]), value_of(parts[day_first ? 1 : 0]), value_of(parts[day_first ? 0 : 1])};
}

/// A time of day as ISO 8601 writes it; empty if it is none.
std::string iso_time(std::string_view text) {
  const std::size_t colon = text.find(':');
  if (colon == 0 || colon > 2 || !is_number(text.substr(0, colon))) return {};
  int hour = value_of(text.substr(0, colon));
  std::string_view rest = text.substr(colon);
  std::string zone;
  for (const std::string_view name : {"utc", "gmt"})
    if (rest.size() > name.size() && equals(rest.substr(rest.size() - name.size()), name)) {
      rest = trim(rest.substr(0, rest.size() - name.size()));
      zone = 'Z';
    }
  if (rest.size() > 2 && small(rest.back()) == 'm') {
    const char half = small(rest[rest.size() - 2]);
    if ((half != 'a' && half != 'p') || hour < 1 || hour > 12) return {};
    hour = hour % 12 + (half == 'p' ? 12 : 0);
    rest = trim(rest.substr(0, rest.size() - 2));
  }
  if (const std::size_t blank = rest.find(' '); blank != std::string_view::npos) {  // an offset behind a blank
    const std::string_view offset = trim(rest.substr(blank));
    if (!zone.empty() || (offset.front() != '+' && offset.front() != '-')) return {};
    zone = std::string(offset);
    rest = rest.substr(0, blank);
  }
  return fmt::format("{:02}{}{}", hour, rest, zone);
}

}  // namespace

std::optional<DateTime> parse_date_notation(std::string_view text, DateOrder order, bool short_years) {
  constexpr std::size_t kShortest = 5, kLongest = 48;
  if (text.size() < kShortest || text.size() > kLongest || text.find_first_of("0123456789") == std::string_view::npos)
    return {};
  std::string_view day = text;
  std::string time;
  if (const std::size_t colon = text.find(':'); colon != std::string_view::npos) {
    const std::size_t gap = text.substr(0, colon).find_last_of(" Tt");
    if (gap == std::string_view::npos) return {};
    day = trim(text.substr(0, gap));
    time = iso_time(text.substr(gap + 1));
    if (time.empty() || day.empty()) return {};
  }
  const std::vector<std::string_view> parts = parts_of(day);
  std::optional<Date> date = numbers_date(day, order, short_years);
  if (!date) date = named_date(parts, order, short_years);
  if (!date && time.empty()) date = quarter_date(parts);
  if (!date) return {};
  return parse_date_time(
      fmt::format("{:04}-{:02}-{:02}{}{}", date->year, date->month, date->day, time.empty() ? "" : "T", time));
}

std::string joined_time(std::span<const std::string_view> parts) {
  constexpr std::array kBefore = {"", "-", "-", "T", ":", ":"};
  const bool numbers = parts.size() > 1 && parts.size() <= kBefore.size() && std::ranges::all_of(parts, is_number) &&
                       parts[0].size() == kYearDigits;
  std::string text;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (!numbers) {
      text += fmt::format("{}{}", i == 0 ? "" : " ", parts[i]);
    } else {
      text += fmt::format("{}{}{}", kBefore[i], parts[i].size() == 1 ? "0" : "", parts[i]);
    }
  }
  return numbers && parts.size() == 4 ? text + ":00" : text;
}

}  // namespace npzoo
