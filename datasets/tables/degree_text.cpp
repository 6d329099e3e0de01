#include "npzoo/datasets/tables/degree_text.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <string>

#include "npzoo/datasets/tables/number_text.h"
#include "npzoo/datasets/tables/text_parts.h"
#include "npzoo/engine/io/text.h"

namespace npzoo {

namespace {

constexpr auto kDegreeSigns = std::to_array<std::string_view>({"°", "º", "˚"});
constexpr auto kMinuteSigns = std::to_array<std::string_view>({"'", "′", "’", "´"});
constexpr auto kSecondSigns = std::to_array<std::string_view>({"\"\"", "\"", "″", "”", "''", "′′"});

bool take(std::string_view& text, std::span<const std::string_view> signs) {
  const auto found = std::ranges::find_if(signs, [&](std::string_view sign) { return text.starts_with(sign); });
  if (found == signs.end()) return false;
  text = trim(text.substr(found->size()));
  return true;
}

/// A number without a sign, behind which one of these stands.
std::optional<double> take_number(std::string_view& text, std::span<const std::string_view> signs) {
  const std::size_t size = std::min(text.find_first_not_of("0123456789.,"), text.size());
  std::string_view rest = trim(text.substr(size));
  if (size == 0 || !is_digit(text.front()) || !take(rest, signs)) return {};
  std::string plain(text.substr(0, size));
  std::ranges::replace(plain, ',', '.');
  const auto value = parse_number(plain, '.', false);
  if (value) text = rest;
  return value;
}

/// −1 for south and west, 1 for north and east, 0 for anything else.
int half_of(char c) { return c == 'N' || c == 'E' ? 1 : c == 'S' || c == 'W' ? -1 : 0; }

}  // namespace

std::optional<double> parse_degrees(std::string_view text) {
  constexpr double kSixty = 60, kMost = 360;
  text = trim(text);
  if (text.size() < 3 || (text.find("°") == text.npos && text.find("º") == text.npos && text.find("˚") == text.npos))
    return {};
  int half = half_of(text.front());
  if (half != 0) text = trim(text.substr(1));
  const bool negative = half == 0 && text.starts_with('-');
  if (negative) text.remove_prefix(1);
  const auto degrees = take_number(text, kDegreeSigns);
  if (!degrees || *degrees > kMost) return {};
  double minutes = 0, seconds = 0;
  if (const auto found = take_number(text, kSecondSigns)) {
    seconds = *found;
  } else if (const auto whole = take_number(text, kMinuteSigns)) {
    minutes = *whole;
    if (const auto rest = take_number(text, kSecondSigns)) seconds = *rest;
  }
  if (minutes >= kSixty || seconds >= kSixty) return {};
  if (half == 0 && !negative && text.size() == 1) {
    half = half_of(text.front());
    if (half != 0) text.remove_prefix(1);
  }
  if (!text.empty()) return {};
  const double value = *degrees + minutes / kSixty + seconds / (kSixty * kSixty);
  return negative || half < 0 ? -value : value;
}

}  // namespace npzoo
