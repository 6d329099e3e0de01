#include "npzoo/datasets/tables/clock_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "npzoo/datasets/tables/text_parts.h"
#include "npzoo/engine/io/text.h"

namespace npzoo {

namespace {

constexpr std::int64_t kClockHour = 3'600'000'000'000, kClockDay = 24 * kClockHour;

bool ends_in(std::string_view text, std::string_view lower) {
  return text.size() >= lower.size() && std::ranges::equal(text.substr(text.size() - lower.size()), lower,
                                                           [](char a, char b) { return small_letter(a) == b; });
}

/// Takes `lower` and the blanks before it from the end of a text.
bool take_end(std::string_view& text, std::string_view lower) {
  if (!ends_in(text, lower)) return false;
  text = trim(text.substr(0, text.size() - lower.size()));
  return true;
}

/// Takes a zone from the end: UTC, GMT or Z, or an offset. Returns it as ISO 8601 does.
std::string take_zone(std::string_view& text) {
  if (take_end(text, "utc") || take_end(text, "gmt") || take_end(text, "z")) return "Z";
  for (const auto& [word, zone] :
       {std::pair(" cest", "+02:00"), {" cet", "+01:00"}, {" eest", "+03:00"}, {" eet", "+02:00"}})
    if (take_end(text, word)) return zone;
  const std::size_t sign = text.find_last_of("+-");
  if (sign == std::string_view::npos || sign == 0 || sign + 1 == text.size() || !is_digit(text[sign + 1])) return {};
  const std::string_view before = trim(text.substr(0, sign));
  if (!is_digit(before.empty() ? ' ' : before.back()) || text[sign - 1] == text[sign]) return {};
  if (text.substr(0, sign).find(':') == std::string_view::npos) return {};
  std::string zone(text.substr(sign));
  text = before;
  return zone;
}

/// 12 for the afternoon, 0 for the morning, none without AM and PM. Takes them from the end.
std::optional<int> take_half(std::string_view& text) {
  for (const auto& [word, hours] :
       {std::pair("a.m.", 0), {"a. m.", 0}, {"am", 0}, {"p.m.", 12}, {"p. m.", 12}, {"pm", 12}})
    if (take_end(text, word)) return hours;
  return {};
}

/// The beginning of an interval such as 13:00 - 14:00.
std::string_view begin_of(std::string_view text) {
  for (const std::string_view between : {" - ", "\xE2\x80\x93"}) {  // 13:00-05:00 has an offset
    const std::size_t at = text.find(between);
    if (at == std::string_view::npos) continue;
    const std::string_view first = trim(text.substr(0, at)), second = trim(text.substr(at + between.size()));
    const bool alike = first.find(':') != std::string_view::npos && second.find(':') != std::string_view::npos;
    if (alike && is_digit(second.front())) return first;
  }
  return text;
}

/// Hour, and the rest from the first colon on, of 13:05:00, 18.00.00 and 13h05.
struct ClockParts {
  int hour;
  std::string rest;
};

std::optional<ClockParts> clock_parts(std::string_view text, bool hour_alone) {
  const std::size_t end = std::min(text.find_first_not_of("0123456789"), text.size());
  if (end == 0 || end > 2) return {};
  const int hour = end == 1 ? text[0] - '0' : 10 * (text[0] - '0') + text[1] - '0';
  std::string rest(text.substr(end));
  if (rest.empty()) return hour_alone ? std::optional(ClockParts{hour, ":00"}) : std::nullopt;
  const bool dotted = rest.size() == 6 && rest[0] == '.' && rest[3] == '.';  // 18.00.00
  if (dotted) rest[0] = rest[3] = ':';
  if (rest[0] == 'h' || rest[0] == 'H') {
    rest[0] = ':';
    if (rest.size() == 1) rest += "00";
  }
  return rest[0] == ':' ? std::optional(ClockParts{hour, rest}) : std::nullopt;
}

}  // namespace

std::string iso_clock(std::string_view text) {
  constexpr std::size_t kLongest = 40, kHhmm = 4;
  if (text.empty() || text.size() > kLongest || !is_digit(text.front())) return {};
  text = begin_of(text);
  take_end(text, " uhr");
  if (const std::size_t zone = text.find('['); text.ends_with(']') && zone != std::string_view::npos)
    text = trim(text.substr(0, zone));  // +01:00[Europe/Berlin]
  const std::string zone = take_zone(text);
  if (zone == "Z" && text.size() == kHhmm && are_digits(text))
    return fmt::format("{}:{}Z", text.substr(0, 2), text.substr(2));
  const std::optional<int> half = take_half(text);
  auto parts = clock_parts(text, half.has_value());
  if (!parts || (half && (parts->hour < 1 || parts->hour > 12))) return {};
  if (half) parts->hour = parts->hour % 12 + *half;
  return fmt::format("{:02}{}{}", parts->hour, parts->rest, zone);
}

namespace {

/// 0d 1h, 1h 30m and PT90M; none for anything else, and for one unit without PT: 5 m may be metres.
std::optional<std::int64_t> unit_time(std::string_view text) {
  constexpr std::int64_t kUnitSecond = 1'000'000'000;
  constexpr std::size_t kMostDigits = 6;
  const bool iso = text.starts_with('P');
  if (iso) text.remove_prefix(1);
  std::int64_t total = 0, last = 2 * kClockDay;
  int units = 0;
  bool times = !iso;
  while (!text.empty()) {
    if (iso && text.starts_with('T')) times = true, text.remove_prefix(1);
    const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
    if (digits == 0 || digits > kMostDigits || digits == text.size()) return {};
    const std::int64_t count = value_of_digits(text.substr(0, digits));
    text = trim(text.substr(digits));
    const char letter = small_letter(text.front());
    const std::int64_t unit = letter == 'd'   ? kClockDay
                              : letter == 'h' ? kClockHour
                              : letter == 'm' ? 60 * kUnitSecond
                              : letter == 's' ? kUnitSecond
                                              : 0;
    if (unit == 0 || unit >= last || (iso && times == (letter == 'd'))) return {};
    text.remove_prefix(!iso && text.starts_with("min") ? 3 : 1);
    text = trim(text);
    total += count * unit;
    last = unit;
    ++units;
  }
  return units > 1 || (iso && units > 0) ? std::optional(total) : std::nullopt;
}

}  // namespace

std::optional<std::int64_t> parse_elapsed(std::string_view text) {
  constexpr int kMostHourDigits = 6, kMostDayDigits = 6;
  const bool negative = text.starts_with('-');
  if (negative) text.remove_prefix(1);
  const auto signed_time = [negative](std::int64_t time) { return negative ? -time : time; };
  std::int64_t days = 0;
  if (const std::size_t word = text.find("day"); word != std::string_view::npos) {
    const std::string_view count = trim(text.substr(0, word));
    if (!are_digits(count) || count.size() > kMostDayDigits) return {};
    for (const char c : count) days = 10 * days + (c - '0');
    text.remove_prefix(word + 3);
    if (text.starts_with('s')) text.remove_prefix(1);
    if (text.starts_with(',')) text.remove_prefix(1);
    text = trim(text);
    if (text.empty()) return signed_time(days * kClockDay);
  }
  if (const auto units = unit_time(text)) return signed_time(days * kClockDay + *units);
  const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  std::int64_t hours = 0;
  std::string clock = iso_clock(text);
  const std::size_t colon = text.find(':'), point = text.find('.');
  const bool minutes = digits == colon && digits > 0 && digits <= 4 && text.rfind(':') == colon && point == colon + 3 &&
                       text.size() > point + 1;  // 00:00.5
  if (minutes) {
    const int count = value_of_digits(text.substr(0, digits));
    clock = fmt::format("00:{:02}{}", count % 60, text.substr(digits));
    const auto found = parse_date_time("1970-01-01T" + clock);
    if (!found) return {};
    return signed_time(days * kClockDay + count / 60 * kClockHour + found->nanosecond);
  }
  if (digits > 0 && digits <= kMostHourDigits && digits < text.size() && text[digits] == ':') {
    for (const char c : text.substr(0, digits)) hours = 10 * hours + (c - '0');
    const bool is_day = hours <= 24 && !clock.empty() && parse_date_time("1970-01-01T" + clock);  // 24:15:00 is none
    if (!is_day) clock = fmt::format("00{}", text.substr(digits));
    if (is_day) hours = 0;
  }
  if (clock.empty()) return {};
  const auto found = parse_date_time("1970-01-01T" + clock);
  if (!found || found->zoned) return {};
  return signed_time((days + found->day) * kClockDay + hours * kClockHour + found->nanosecond);
}

std::optional<int> half_day_in(std::string_view cell) {
  constexpr std::size_t kLetters = 2;
  std::string letters;
  for (const char c : cell)
    if (c != '.' && c != ' ') letters += small_letter(c);
  if (letters.size() != kLetters || letters[1] != 'm') return {};
  return letters[0] == 'a' ? std::optional(0) : letters[0] == 'p' ? std::optional(12) : std::nullopt;
}

std::string format_elapsed(double days) {
  constexpr double kMost = 1e6;
  constexpr std::int64_t kMicroseconds = 1'000'000, kOfDay = 86'400 * kMicroseconds;
  if (!(std::abs(days) < kMost)) return fmt::format("{} days", days);
  const std::int64_t all = std::llround(std::abs(days) * static_cast<double>(kOfDay));
  const std::int64_t whole = all / kOfDay, seconds = all % kOfDay / kMicroseconds, rest = all % kMicroseconds;
  std::string text = days < 0 ? "-" : "";
  if (whole > 0) text += fmt::format("{} day{} ", whole, whole == 1 ? "" : "s");
  text += fmt::format("{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
  if (rest == 0) return text;
  text += fmt::format(".{:06}", rest);
  return text.erase(text.find_last_not_of('0') + 1);
}

}  // namespace npzoo
