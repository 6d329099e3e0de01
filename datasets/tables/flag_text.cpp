#include "npzoo/datasets/tables/flag_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "npzoo/datasets/tables/text_parts.h"
#include "npzoo/engine/io/text.h"

namespace npzoo {

std::string flag_value(std::string_view value) {
  const bool plain = !value.empty() && std::ranges::all_of(value, [](char c) {
    return is_digit(c) || is_letter(c) || std::string_view("_.,:%+@=-/").find(c) != std::string_view::npos;
  });
  if (plain) return std::string(value);
  std::string text = "'";
  for (const char c : value) text += c == '\'' ? "'\\''" : std::string(1, c);
  return text + "'";
}

std::string flag_list(std::span<const std::string> names) {
  std::string list;
  for (const std::string& name : names) {
    if (!list.empty()) list += ',';
    list += name.find(',') == std::string::npos ? name : '"' + name + '"';
  }
  return flag_value(list);
}

std::string quoted_list(std::span<const std::string> names) {
  constexpr std::size_t kMost = 8;
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), kMost); ++i) {
    const bool last = i + 1 == names.size();
    text += fmt::format("{}{}", i == 0 ? "" : last ? " and " : ", ", in_quotes(names[i]));
  }
  return names.size() > kMost ? fmt::format("{} and {} more", text, names.size() - kMost) : text;
}

}  // namespace npzoo
