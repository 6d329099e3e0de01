#include "npzoo/engine/io/text.h"

#include <fmt/format.h>

#include <algorithm>

namespace npzoo {

std::string_view trim(std::string_view text) {
  const auto is_blank = [](char c) { return c == ' ' || c == '\t'; };
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

std::string in_quotes(std::string_view text) {
  constexpr std::size_t kLength = 40;
  const bool cut = text.size() > kLength;
  if (cut) {
    std::size_t length = kLength;
    while (length > 0 && (text[length] & 0xC0) == 0x80) --length;  // not in the middle of a UTF-8 character
    text = text.substr(0, length);
  }
  std::string shown(text);
  std::ranges::replace_if(
      shown, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }, '?');
  return fmt::format("\"{}{}\"", shown, cut ? "…" : "");
}

bool is_utf8(std::string_view text) {
  const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  for (std::size_t i = 0; i < text.size();) {
    const unsigned first = byte(i);
    const std::size_t more = first < 0x80                    ? 0
                             : first >= 0xC2 && first < 0xE0 ? 1
                             : first >= 0xE0 && first < 0xF0 ? 2
                             : first >= 0xF0 && first < 0xF5 ? 3
                                                             : text.size();
    if (more == text.size()) return false;
    for (std::size_t k = 1; k <= more; ++k)
      if ((byte(i + k) & 0xC0) != 0x80) return false;
    // The shortest form, no surrogates, nothing beyond U+10FFFF.
    const unsigned second = byte(i + 1);
    if ((first == 0xE0 && second < 0xA0) || (first == 0xED && second >= 0xA0) || (first == 0xF0 && second < 0x90) ||
        (first == 0xF4 && second >= 0x90))
      return false;
    i += more + 1;
  }
  return true;
}

}  // namespace npzoo
