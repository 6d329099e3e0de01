#include "npzoo/datasets/tables/number_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <system_error>

#include "npzoo/datasets/tables/text_parts.h"
#include "npzoo/datasets/tables/unit_lines.h"
#include "npzoo/engine/io/parse_number.h"
#include "npzoo/engine/io/text.h"

namespace npzoo {

namespace {

constexpr std::size_t kLongestNumber = 400;

/// The blanks and apostrophes between groups of digits become blanks, U+2212 and a dash become a minus. Leaves other
/// texts alone.
std::string_view with_plain_signs(std::string_view text, std::array<char, kLongestNumber>& room) {
  constexpr std::array<std::string_view, 5> kGroups = {"'", "\xC2\xA0", "\xE2\x80\xAF", "\xE2\x80\x89", "\xE2\x80\x99"};
  constexpr std::array<std::string_view, 2> kMinus = {"\xE2\x88\x92", "\xE2\x80\x93"};
  const bool plain = std::ranges::none_of(text, [](char c) { return c == '\'' || (c & 0x80) != 0; });
  if (plain || text.size() > kLongestNumber) return text;
  std::size_t size = 0;
  while (!text.empty()) {
    const auto group = std::ranges::find_if(kGroups, [&](std::string_view g) { return text.starts_with(g); });
    if (group != kGroups.end()) {
      room[size++] = ' ';
      text.remove_prefix(group->size());
    } else if (text.starts_with(kMinus[0]) || text.starts_with(kMinus[1])) {
      room[size++] = '-';
      text.remove_prefix(kMinus[0].size());
    } else {
      room[size++] = text.front();
      text.remove_prefix(1);
    }
  }
  return {room.data(), size};
}

std::string_view without_sign(std::string_view text) {
  if (!text.empty() && (text.front() == '-' || text.front() == '+')) text.remove_prefix(1);
  return text;
}

std::size_t leading_digits(std::string_view text) {
  return std::min(text.find_first_not_of("0123456789"), text.size());
}

/// The number of characters of digits in groups, from the front: 1,234,567 or 12,34,567 for `mark` ','; 0 if they are
/// no groups.
std::size_t grouped_digits(std::string_view text, char mark) {
  constexpr std::size_t kGroup = 3, kShortGroup = 2;
  std::size_t end = leading_digits(text), groups = 0, last = end;
  if (end == 0 || end > kGroup || text.front() == '0') return 0;
  bool short_ones = false;
  while (end < text.size() && text[end] == mark) {
    const std::size_t digits = leading_digits(text.substr(end + 1));
    if (groups > 0 && last == kShortGroup) short_ones = true;
    if (groups > 0 && last != kGroup && last != kShortGroup) return 0;
    if (digits == 0) break;
    if (groups > 0 && (last == kShortGroup) != short_ones) return 0;
    last = digits;
    ++groups;
    end += 1 + digits;
  }
  if (groups == 0 || last != kGroup) return 0;
  return !short_ones || mark == ',' ? end : 0;
}

struct Exponent {
  bool valid;
  bool found;
};

/// Whether nothing stands behind a number, or an exponent does.
Exponent exponent_in(std::string_view text) {
  if (text.empty()) return {true, false};
  if (text.front() != 'e' && text.front() != 'E') return {false, false};
  text = without_sign(text.substr(1));
  return {!text.empty() && leading_digits(text) == text.size(), true};
}

/// What digits from `whole` characters on show: a decimal sign, further digits and an exponent.
DecimalEvidence behind_groups(std::string_view rest, DecimalEvidence alone, char mark) {
  if (rest.empty()) return alone;
  const char sign = rest.front();
  if ((sign != '.' && sign != ',') || sign == mark) return DecimalEvidence::no_number;
  rest.remove_prefix(1);
  rest.remove_prefix(leading_digits(rest));
  if (!exponent_in(rest).valid) return DecimalEvidence::no_number;
  return sign == '.' ? DecimalEvidence::point : DecimalEvidence::comma;
}

}  // namespace

DecimalEvidence decimal_evidence(std::string_view text) {
  using enum DecimalEvidence;
  constexpr std::size_t kGroup = 3;
  std::array<char, kLongestNumber> room;
  text = without_sign(with_plain_signs(text, room));
  const std::size_t mark = text.find_first_of(",. ");
  if (mark == std::string_view::npos) {
    const std::size_t digits = leading_digits(text);
    return digits > 0 && exponent_in(text.substr(digits)).valid ? whole : no_number;
  }
  if (text[mark] == ' ') {
    const std::size_t end = grouped_digits(text, ' ');
    return end == 0 ? no_number : behind_groups(text.substr(end), whole, ' ');
  }
  const char sign = text[mark];
  const std::size_t end = grouped_digits(text, sign);
  const bool several = end > 0 && std::ranges::count(text.substr(0, end), sign) > 1;
  const bool other_behind = end > 0 && end < text.size() && (text[end] == '.' || text[end] == ',');
  if (several || other_behind) return behind_groups(text.substr(end), sign == ',' ? point : comma, sign);
  if (leading_digits(text) != mark) return no_number;
  const std::size_t decimals = leading_digits(text.substr(mark + 1));
  const Exponent exponent = exponent_in(text.substr(mark + 1 + decimals));
  if (!exponent.valid || mark + decimals == 0) return no_number;
  if (end > 0 && decimals == kGroup && !exponent.found) return sign == '.' ? point_or_groups : comma_or_groups;
  return sign == '.' ? point : comma;
}

std::optional<double> parse_number(std::string_view text, char decimal, bool groups) {
  std::array<char, kLongestNumber> room;
  text = with_plain_signs(text, room);
  if (text.size() > kLongestNumber) return {};
  const std::string_view digits = without_sign(text);
  const char other = decimal == '.' ? ',' : '.';
  const std::size_t mark = digits.find_first_of(",. ");
  std::size_t grouped = 0;  // characters
  if (mark != std::string_view::npos && (digits[mark] == ' ' || (groups && digits[mark] == other)))
    grouped = grouped_digits(digits, digits[mark]);
  std::string plain;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i < grouped && !is_digit(digits[i])) continue;
    if (digits[i] == other || digits[i] == ' ') return {};
    plain += digits[i] == decimal ? '.' : digits[i];
  }
  if (!plain.empty() && (plain.front() == '-' || plain.front() == '+')) return {};
  if (text.starts_with('-')) plain.insert(plain.begin(), '-');
  double value = 0;
  const auto [end, error] = parse_number(plain, value);
  const bool whole = error == std::errc() && end == plain.data() + plain.size() && std::isfinite(value);
  return whole ? std::optional(value) : std::nullopt;
}

namespace {

/// The full number of 43.40M, 900.0K and 2bn, with its decimal point moved; empty for any other unit.
std::string full_number(std::string_view core, std::string_view unit) {
  constexpr std::size_t kMostDecimals = 20;
  const std::size_t zeros = unit == "K" || unit == "k"    ? 3
                            : unit == "M" || unit == "mn" ? 6
                            : unit == "B" || unit == "bn" ? 9
                                                          : 0;
  const DecimalEvidence shown = decimal_evidence(core);
  const bool decimals = shown == DecimalEvidence::point || shown == DecimalEvidence::comma;
  if (zeros == 0 || (!decimals && shown != DecimalEvidence::whole)) return {};
  const std::size_t mark = decimals ? core.find_last_of(",.") : core.size();
  std::string digits, behind(core.substr(std::min(mark + 1, core.size())));
  for (const char c : core.substr(0, mark))
    if (is_digit(c)) digits += c;
  if (behind.size() > kMostDecimals || !are_digits(behind.empty() ? "0" : behind)) return {};
  behind.resize(std::max(behind.size(), zeros), '0');
  digits += behind.substr(0, zeros);
  digits.erase(0, std::min(digits.find_first_not_of('0'), digits.size() - 1));
  behind.erase(0, zeros);
  behind.erase(behind.find_last_not_of('0') + 1);
  return behind.empty() ? digits : digits + core[mark] + behind;
}

}  // namespace

std::optional<NumberWithUnit> number_with_unit(std::string_view cell) {
  constexpr auto kMoney = std::to_array<std::string_view>({"$", "€", "£"});
  constexpr std::string_view kDigits = "0123456789";
  const std::size_t last = cell.find_last_of(kDigits);
  if (cell.empty() || last == std::string_view::npos || (is_digit(cell.front()) && is_digit(cell.back()))) return {};
  NumberWithUnit found{.behind = trim(cell.substr(last + 1))};
  std::string_view number = cell.substr(0, last + 1);
  const auto sign = std::ranges::find_if(kMoney, [&](std::string_view money) { return number.starts_with(money); });
  if (sign != kMoney.end()) {
    found.before = *sign;
    number = trim(number.substr(sign->size()));
  }
  found.number = number;
  const bool unit = found.behind.empty() ? !found.before.empty() : is_unit(found.behind);
  if (!unit || decimal_evidence(number) == DecimalEvidence::no_number) return {};
  const bool zone = found.behind.size() > 1 && is_time_zone(found.behind);
  const bool close = cell.substr(last + 1) == found.behind;
  const bool thousands = close && !full_number(number, found.behind).empty();
  // 3A and 4B are names of things.
  const bool name = close && found.behind.size() == 1 && is_letter(found.behind[0]) &&
                    std::string_view("mshg").find(found.behind[0]) == std::string_view::npos;
  // 12- is negative.
  const bool mark =
      !found.behind.empty() && (found.behind == "–" || found.behind.find_first_not_of("-_#") == cell.npos);
  return zone || thousands || name || mark ? std::nullopt : std::optional(found);
}

bool is_numbered_name(std::string_view cell) {
  const auto take_word = [&cell] {
    const std::size_t end = std::min(cell.find(' '), cell.size());
    const std::string_view word = cell.substr(0, end);
    cell = trim(cell.substr(end));
    return word;
  };
  const auto is_small = [](char c) { return c >= 'a' && c <= 'z'; };
  const std::string_view number = take_word(), first = take_word(), second = take_word();
  if (number.empty() || !is_digit(number.front()) || first.size() < 2 || second.size() < 2) return false;
  return is_letter(first[0]) && !is_small(first[0]) && is_small(first[1]) && is_letter(second[0]) &&
         is_small(second[1]);
}

namespace {

/// The advice for a value with its uncertainty: 2.9±0.1, 2.9 +/- 0.1. Empty for any other text.
std::string advice_on_uncertainty(std::string_view cell) {
  for (const std::string_view sign : {"±", "+/-", "+-"}) {
    const std::size_t at = cell.find(sign);
    if (at == std::string_view::npos) continue;
    const std::string_view value = trim(cell.substr(0, at)), error = trim(cell.substr(at + sign.size()));
    if (decimal_evidence(value) != DecimalEvidence::no_number && decimal_evidence(error) != DecimalEvidence::no_number)
      return fmt::format("write {} in place of {}, and {} into a column of its own", value, cell, error);
  }
  return "";
}

/// The advice for a result below or above a limit: <0.05, > 100. Empty for any other text.
std::string advice_on_limit(std::string_view cell) {
  constexpr auto kSigns = std::to_array<std::string_view>({"<", ">", "≤", "≥", "&lt;", "&gt;"});
  const auto sign = std::ranges::find_if(kSigns, [&](std::string_view s) { return cell.starts_with(s); });
  if (sign == kSigns.end() || decimal_evidence(trim(cell.substr(sign->size()))) == DecimalEvidence::no_number)
    return "";
  return fmt::format(
      "{} is a limit and no value; leave it blank, or write a number in its place, such as half of a limit of "
      "detection",
      cell);
}

/// Years before the first one: 60 BC.
bool is_before_christ(std::string_view unit) {
  return unit == "BC" || unit == "BCE" || unit == "B.C." || unit == "v. Chr." || unit == "v.Chr.";
}

}  // namespace

std::string advice_on_signs(std::string_view cell) {
  if (std::string advice = advice_on_uncertainty(cell) + advice_on_limit(cell); !advice.empty()) return advice;
  constexpr std::string_view kDigits = "0123456789";
  constexpr auto kBefore =
      std::to_array<std::string_view>({"", "-", "+", "(", "$", "-$", "$-", "($", "€", "-€", "£", "-£"});
  const std::size_t first = cell.find_first_of(kDigits), last = cell.find_last_of(kDigits);
  if (first == std::string_view::npos || is_numbered_name(cell)) return "";
  const std::string_view core = cell.substr(first, last + 1 - first), before = trim(cell.substr(0, first)),
                         behind = trim(cell.substr(last + 1));
  if (decimal_evidence(core) == DecimalEvidence::no_number || std::ranges::find(kBefore, before) == kBefore.end())
    return "";
  const bool brackets = before.starts_with('('), minus_behind = behind == "-", early = is_before_christ(behind);
  // A letter is a unit, but for the one of an exponent and a blank that does not break lines.
  const bool exponent = (behind == "e" || behind == "E") && cell.substr(last + 1) == behind;
  const bool unit = !exponent && behind != "\xC2\xA0" && std::ranges::all_of(behind, [](char c) {
    return is_letter(c) || std::string_view("%/ $*#!^~").find(c) != std::string_view::npos;
  });
  if (brackets ? behind != ")" : !unit && !minus_behind && !early) return "";
  const bool negative = brackets || minus_behind || early || before.find('-') != std::string_view::npos;
  // Without a blank K is no kelvin.
  const std::string full = cell.substr(last + 1) == behind ? full_number(core, behind) : "";
  const std::string number = (negative ? "-" : "") + (full.empty() ? std::string(core) : full);
  return number == cell || behind.size() + before.size() == (before == "-" || before == "+" ? 1U : 0U)
             ? ""
             : fmt::format("write {} in place of {}", number, cell);
}

void DecimalVote::add(std::string_view cell) {
  if (!numbers_) return;
  const DecimalEvidence shown = decimal_evidence(cell);
  switch (shown) {
    case DecimalEvidence::no_number: numbers_ = false; return;
    case DecimalEvidence::point: point_ = true; return;
    case DecimalEvidence::comma: comma_ = true; return;
    case DecimalEvidence::whole:
      largest_whole_ = std::max(largest_whole_, std::abs(parse_number(cell, '.', false).value_or(0)));
      return;
    case DecimalEvidence::point_or_groups: either_point_ = true; break;
    case DecimalEvidence::comma_or_groups: either_comma_ = true; break;
  }
  const char decimal = shown == DecimalEvidence::point_or_groups ? '.' : ',';
  largest_decimal_ = std::max(largest_decimal_, std::abs(parse_number(cell, decimal, false).value_or(0)));
}

bool DecimalVote::doubtful(char separator) const {
  constexpr double kLeast = 100;  // groups begin at 1000: the numbers below are near
  if (!numbers_ || point_ || comma_ || !(either_point_ || either_comma_)) return false;
  if (either_point_ && either_comma_) return true;
  if (either_comma_ && separator != ';') return true;
  const bool mixed = largest_whole_ > 0 && largest_whole_ < 1000;
  return mixed && (separator != ',' || (largest_whole_ >= kLeast && largest_whole_ > largest_decimal_));
}

}  // namespace npzoo
