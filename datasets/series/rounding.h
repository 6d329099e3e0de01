#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <string_view>

namespace npzoo {

/// Returns the standard deviation of the rounding of numbers that have as many decimals as `value`, which is finite:
/// 0.1/√12 for 7.5, and 1/√12 for whole numbers. Equal values differ by as much before they are rounded.
inline double rounding_std(double value) {
  std::array<char, 32> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value, std::chars_format::scientific).ptr;
  const std::string_view written(text.data(), static_cast<std::size_t>(end - text.data()));
  const std::size_t e = written.find('e'), point = written.find('.');
  int exponent = 0;
  std::from_chars(written.data() + e + (written[e + 1] == '+' ? 2 : 1), end, exponent);
  const int digits = point == std::string_view::npos ? 0 : static_cast<int>(e - point - 1);
  return std::pow(10, -std::max(digits - exponent, 0)) / std::sqrt(12.0);
}

}  // namespace npzoo
