#include "engine/io/text.h"

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

}  // namespace npzoo
