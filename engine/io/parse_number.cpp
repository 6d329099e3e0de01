#include "npzoo/engine/io/parse_number.h"

#include <locale.h>
#include <stdlib.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <system_error>

namespace npzoo {

namespace {

bool is_digit(char c) { return '0' <= c && c <= '9'; }

/// The length of the number at the start of `text` without its sign, by the rules of std::from_chars; 0: there is none.
/// strtod takes more than they do: a plus sign, spaces before the number, and hexadecimal digits.
std::size_t length_of_number(std::string_view text) {
  const auto matches = [text](std::string_view word) {
    return text.size() >= word.size() &&
           std::equal(word.begin(), word.end(), text.begin(), [](char a, char b) { return a == (b | 0x20); });
  };
  if (matches("infinity")) return 8;
  if (matches("inf")) return 3;
  if (matches("nan")) {
    if (text.size() == 3 || text[3] != '(') return 3;
    std::size_t at = 4;
    while (at < text.size() &&
           (is_digit(text[at]) || text[at] == '_' || ('a' <= (text[at] | 0x20) && (text[at] | 0x20) <= 'z')))
      ++at;
    return at < text.size() && text[at] == ')' ? at + 1 : 3;
  }
  std::size_t at = 0, digits = 0;
  const auto skip_digits = [&] {
    const std::size_t first = at;
    while (at < text.size() && is_digit(text[at])) ++at;
    return at - first;
  };
  digits = skip_digits();
  if (at < text.size() && text[at] == '.') {
    ++at;
    digits += skip_digits();
  }
  if (digits == 0) return 0;
  const std::size_t mantissa = at;
  if (at == text.size() || (text[at] | 0x20) != 'e') return mantissa;
  ++at;
  if (at < text.size() && (text[at] == '+' || text[at] == '-')) ++at;
  return skip_digits() > 0 ? at : mantissa;
}

/// Reads by std::from_chars where the library has it for double; elsewhere it is a deleted function.
template <class T>
std::from_chars_result parse(const char* begin, const char* end, T& value) {
  if constexpr (requires { std::from_chars(begin, end, value); })
    return std::from_chars(begin, end, value);
  else
    return parse_number_by_strtod({begin, end}, value);
}

}  // namespace

std::from_chars_result parse_number(std::string_view text, double& value) {
  return parse(text.data(), text.data() + text.size(), value);
}

std::from_chars_result parse_number_by_strtod(std::string_view text, double& value) {
  const std::size_t sign = text.starts_with('-') ? 1 : 0, length = length_of_number(text.substr(sign));
  if (length == 0) return {text.data(), std::errc::invalid_argument};
  // A copy, since strtod reads up to a zero byte; and the C locale, since a program may have set another decimal mark.
  const std::string number(text.substr(0, sign + length));
  static const locale_t c_locale = ::newlocale(LC_ALL_MASK, "C", static_cast<locale_t>(nullptr));
  const double found = ::strtod_l(number.c_str(), nullptr, c_locale);
  const char* end = text.data() + number.size();
  const bool infinite = (number[sign] | 0x20) == 'i';
  const std::string_view mantissa = std::string_view(number).substr(0, number.find_first_of("eE"));
  const bool zero = mantissa.find_first_of("123456789") == std::string_view::npos;
  if ((std::isinf(found) && !infinite) || (found == 0 && !zero)) return {end, std::errc::result_out_of_range};
  value = found;
  return {end, {}};
}

}  // namespace npzoo
