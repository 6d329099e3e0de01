#pragma once

#include <charconv>
#include <concepts>
#include <string_view>

namespace npzoo {

/// Reads the number at the start of `text`, in any locale; the result and `value` are those of std::from_chars, which
/// some standard libraries have for whole numbers alone.
std::from_chars_result parse_number(std::string_view text, double& value);
template <std::integral T>
std::from_chars_result parse_number(std::string_view text, T& value) {
  return std::from_chars(text.data(), text.data() + text.size(), value);
}

/// The same by strtod, for such libraries.
std::from_chars_result parse_number_by_strtod(std::string_view text, double& value);

}  // namespace npzoo
