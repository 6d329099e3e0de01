#include "npzoo/datasets/tables/time_notation.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <vector>

#include "npzoo/datasets/tables/month_names.h"
#include "npzoo/datasets/tables/text_parts.h"

namespace npzoo {

namespace {

// The letters of strftime, and n, e and k for a month, a day and an hour without a leading zero, q for a quarter, w for
// a month as the column writes it, and u for one in capitals.
constexpr std::string_view kDates[] = {
    "%Y-%m-%d", "%Y/%m/%d", "%Y.%m.%d",  "%Y%m%d",    "%Y%m%d.0",  "%d/%m/%Y",  "%m/%d/%Y",  "%d.%m.%Y",
    "%d-%m-%Y", "%m-%d-%Y", "%e/%n/%Y",  "%n/%e/%Y",  "%e.%n.%Y",  "%Y/%n/%e",  "%Y-%n-%e",  "%d/%m/%y",
    "%m/%d/%y", "%d.%m.%y", "%y.%m.%d",  "%e/%n/%y",  "%n/%e/%y",  "%d%m%Y",    "%m%d%Y",    "%y%m%d",
    "%d-%b-%Y", "%d %b %Y", "%b %e, %Y", "%d-%b-%y",  "%d%b%Y",    "%B %e, %Y", "%B %d, %Y", "%e %B %Y",
    "%d %B %Y", "%d%u%Y",   "%d-%u-%Y",  "%d-%u-%y",  "%e %w %Y",  "%d %w %Y",  "%e. %w %Y", "%d. %w %Y",
    "%d-%w-%Y", "%d-%w-%y", "%d%w%Y",    "%w %e, %Y", "%w %d, %Y", "%G-W%V"};
constexpr std::string_view kMonths[] = {"%Y-%m", "%Y/%m",  "%m/%Y", "%n/%Y",  "%Y%m",   "%YM%m",  "%b %Y", "%B %Y",
                                        "%b-%Y", "%m.%Y",  "%Y.%m", "%Y_%m",  "%m%Y",   "%y%m",   "%Y%q",  "%Y.%q",
                                        "%Y0%q", "%Y-Q%q", "%YQ%q", "%Y Q%q", "Q%q %Y", "Q%q/%Y", "%b-%y", "%b %y",
                                        "%Y %B", "%w %Y",  "%w-%Y", "%w-%y",  "%w %y",  "%Y %w",  "%Y%w"};
constexpr std::string_view kTimes[] = {"%H:%M", "%H:%M:%S", "%I:%M %p", "%l:%M %p", "%I:%M:%S %p", "%l:%M:%S %p",
                                       "%k:%M", "%k:%M:%S", "%H%M",     "%H%M%S",   "%H"};
constexpr std::string_view kParts[] = {"%Y", "%m", "%n", "%d", "%e", "%k", "%M", "%S"};
constexpr std::string_view kBetween[] = {"T", " ", ""};
constexpr std::string_view kMonthNames[] = {"January", "February", "March",     "April",   "May",      "June",
                                            "July",    "August",   "September", "October", "November", "December"};

struct Moment {
  int year = 0;
  unsigned month = 1, day = 1;
  std::int64_t hour = 0, minute = 0, second = 0;
  bool whole = true;                   // seconds
  int week_year = 0;                   // as ISO 8601 numbers weeks
  std::int64_t week = 0, weekday = 0;  // from Monday, 0
};

using MonthWords = std::array<std::string, 12>;

Moment moment_of(const ColumnForm& form, double days) {
  using namespace std::chrono;
  constexpr std::int64_t kMicroseconds = 1'000'000, kDay = 86'400;
  const double midnight = std::floor(days);
  std::int64_t micro = std::llround((days - midnight) * static_cast<double>(kDay * kMicroseconds));
  std::int64_t day = form.epoch + static_cast<std::int64_t>(midnight);
  if (micro >= kDay * kMicroseconds) ++day, micro -= kDay * kMicroseconds;
  const year_month_day date{sys_days(std::chrono::days(day))};
  const std::int64_t second = micro / kMicroseconds;
  const std::int64_t weekday = static_cast<std::int64_t>(std::chrono::weekday(sys_days(date)).iso_encoding()) - 1;
  const year_month_day thursday{sys_days(std::chrono::days(day - weekday + 3))};
  const std::int64_t since_new_year = (sys_days(thursday) - sys_days(thursday.year() / January / 1)).count();
  return {static_cast<int>(date.year()),
          static_cast<unsigned>(date.month()),
          static_cast<unsigned>(date.day()),
          second / 3600,
          second / 60 % 60,
          second % 60,
          micro % kMicroseconds == 0,
          static_cast<int>(thursday.year()),
          since_new_year / 7 + 1,
          weekday};
}

/// The word for a month in a cell; empty if it has none, or several.
std::string_view month_word(std::string_view cell) {
  const auto in_word = [](char c) { return is_letter(c); };
  std::string_view found;
  for (auto begin = std::ranges::find_if(cell, in_word); begin != cell.end();) {
    const auto end = std::find_if_not(begin, cell.end(), in_word);
    const std::string_view word(&*begin, static_cast<std::size_t>(end - begin));
    if (month_of(word) > 0) {
      if (!found.empty()) return {};
      found = word;
    }
    begin = std::find_if(end, cell.end(), in_word);
  }
  return found;
}

/// The words for months that the cells have.
MonthWords month_words(std::span<const std::string_view> cells) {
  MonthWords words;
  for (const std::string_view cell : cells)
    if (const std::string_view word = month_word(cell); !word.empty())
      words[static_cast<std::size_t>(month_of(word) - 1)] = word;
  return words;
}

void append(std::string& text, char letter, const Moment& m, const MonthWords& words) {
  constexpr std::int64_t kNoon = 12;
  const std::string_view month = kMonthNames[m.month - 1];
  const std::int64_t of_twelve = (m.hour + kNoon - 1) % kNoon + 1;
  switch (letter) {
    case 'Y': text += fmt::format("{:04}", m.year); break;
    case 'y': text += fmt::format("{:02}", m.year % 100); break;
    case 'm': text += fmt::format("{:02}", m.month); break;
    case 'n': text += fmt::format("{}", m.month); break;
    case 'b': text += month.substr(0, 3); break;
    case 'B': text += month; break;
    case 'u':
      for (const char c : month.substr(0, 3)) text += c >= 'a' ? static_cast<char>(c - 'a' + 'A') : c;
      break;
    case 'q': text += fmt::format("{}", (m.month + 2) / 3); break;
    case 'd': text += fmt::format("{:02}", m.day); break;
    case 'e': text += fmt::format("{}", m.day); break;
    case 'H': text += fmt::format("{:02}", m.hour); break;
    case 'k': text += fmt::format("{}", m.hour); break;
    case 'M': text += fmt::format("{:02}", m.minute); break;
    case 'I': text += fmt::format("{:02}", of_twelve); break;
    case 'l': text += fmt::format("{}", of_twelve); break;
    case 'p': text += m.hour < kNoon ? "AM" : "PM"; break;
    case 'G': text += fmt::format("{:04}", m.week_year); break;
    case 'V': text += fmt::format("{:02}", m.week); break;
    case 'w': text += words[m.month - 1]; break;
    default: text += fmt::format("{:02}", m.second);
  }
}

std::string written(std::string_view pattern, const Moment& m, const MonthWords& words) {
  std::string text;
  for (std::size_t i = 0; i < pattern.size(); ++i)
    if (pattern[i] == '%')
      append(text, pattern[++i], m, words);
    else
      text += pattern[i];
  return text;
}

bool has(std::string_view pattern, std::string_view letters) {
  for (std::size_t i = 0; i + 1 < pattern.size(); ++i)
    if (pattern[i] == '%' && letters.find(pattern[i + 1]) != letters.npos) return true;
  return false;
}

/// Whether a notation drops a part of this time that is not zero, such as an hour.
bool drops(std::string_view pattern, const Moment& m) {
  const bool weeks = has(pattern, "V");
  if (!weeks && (!has(pattern, "Yy") || !has(pattern, "mnbBquw"))) return true;
  return (weeks ? m.weekday != 0
                : (m.day != 1 && !has(pattern, "de")) || (m.month % 3 != 1 && !has(pattern, "mnbBuw"))) ||
         (m.hour != 0 && !has(pattern, "HkIl")) || (m.minute != 0 && !has(pattern, "M")) ||
         (m.second != 0 && !has(pattern, "S"));
}

/// Cells that a notation must give back: the first ones, the last ones and some between.
std::vector<std::size_t> looked_at(std::size_t rows) {
  constexpr std::size_t kMost = 512;
  std::vector<std::size_t> found;
  const std::size_t step = rows / kMost + 1;
  for (std::size_t i = 0; i < rows; i += step) found.push_back(i);
  if (rows > 0 && found.back() + 1 != rows) found.push_back(rows - 1);
  return found;
}

}  // namespace

TimeNotation::TimeNotation(std::span<const std::string_view> cells, std::span<const double> days,
                           const ColumnForm& form)
    : form_(form), months_(month_words(cells)) {
  const std::vector<std::size_t> rows = looked_at(cells.size());
  std::vector<Moment> moments;
  for (const std::size_t row : rows) moments.push_back(moment_of(form, days[row]));
  const auto fits = [&](const std::string& pattern) {
    for (std::size_t i = 0; i < rows.size(); ++i)
      if (!moments[i].whole || written(pattern, moments[i], months_) != cells[rows[i]]) return false;
    if (rows.empty()) return false;
    pattern_ = pattern;
    is_part_ = std::ranges::any_of(moments, [&](const Moment& m) { return drops(pattern, m); });
    return true;
  };
  for (const std::string_view date : kDates) {
    if (fits(std::string(date))) return;
    for (const std::string_view time : kTimes)
      for (const std::string_view between : kBetween)
        for (const std::string_view zone : {"", "Z"})
          if (fits(fmt::format("{}{}{}{}", date, between, time, zone))) return;
  }
  for (const std::string_view pattern : kMonths)
    if (fits(std::string(pattern))) return;
  for (const std::string_view pattern : kTimes)
    if (fits(std::string(pattern))) return;
  for (const std::string_view pattern : kParts)
    if (fits(std::string(pattern))) return;
}

std::string TimeNotation::text(double days) const {
  const Moment m = moment_of(form_, days);
  const bool known = !has(pattern_, "w") || !months_[m.month - 1].empty();
  return found() && known && m.whole && (is_part_ || !drops(pattern_, m)) ? written(pattern_, m, months_)
                                                                          : form_.text(days);
}

}  // namespace npzoo
