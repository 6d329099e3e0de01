#pragma once

#include <algorithm>
#include <string_view>

#include "npzoo/datasets/tables/date_time.h"

// Parts of the texts of dates and numbers.

namespace npzoo {

/// A letter of ASCII as a small one; other characters as they are.
inline char small_letter(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }
/// A letter of ASCII, or a byte of another one in UTF-8.
inline bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c & 0x80) != 0; }
/// True for digits alone, at least one.
inline bool are_digits(std::string_view text) { return !text.empty() && std::ranges::all_of(text, is_digit); }
/// The number that the first digits are, at most six.
inline int value_of_digits(std::string_view digits) {
  int value = 0;
  for (const char c : digits.substr(0, 6)) value = 10 * value + (c - '0');
  return value;
}

}  // namespace npzoo
