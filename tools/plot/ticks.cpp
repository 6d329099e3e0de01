#include "tools/plot/ticks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>

namespace npzoo::tools::plot {

namespace {

// Labels that show every digit in which ticks `step` apart differ, in the shorter of the two notations.
void label(std::vector<Tick>& ticks, double step) {
  double largest = step;
  for (const Tick& tick : ticks) largest = std::max(largest, std::abs(tick.value));
  const int last_digit = static_cast<int>(std::floor(std::log10(step) + 1e-9));
  const int first_digit = static_cast<int>(std::floor(std::log10(largest) + 1e-9));
  const int decimals = std::max(0, -last_digit);
  const bool scientific = std::max(0, first_digit) + decimals > first_digit - last_digit + 5;
  for (Tick& tick : ticks) {
    std::string text = fmt::format("{:.{}f}", tick.value, decimals);
    if (scientific) text = tick.value == 0.0 ? "0" : fmt::format("{:.{}e}", tick.value, first_digit - last_digit);
    constexpr std::string_view kMinus = "\u2212";
    for (std::size_t at = 0; (at = text.find('-', at)) != std::string::npos; at += kMinus.size())
      text.replace(at, 1, kMinus);
    tick.label = std::move(text);
  }
}

}  // namespace

Range range_of(std::initializer_list<std::span<const double>> values) {
  constexpr double kLargest = 1e100;
  Range range{std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity()};
  for (const auto some : values) {
    for (const double value : some) {
      if (!(std::abs(value) < kLargest)) continue;
      range.low = std::min(range.low, value);
      range.high = std::max(range.high, value);
    }
  }
  return range;
}

std::vector<Tick> nice_ticks(Range range, int count) {
  const double width = range.high - range.low;
  if (!(width > 1e-200 && width < 1e200) || count < 1) return {};  // beyond, steps are no normal numbers
  const double power = std::pow(10.0, std::floor(std::log10(width / count)));
  const double rest = width / count / power;
  const double step = power * (rest < 1.5 ? 1.0 : rest < 3.5 ? 2.0 : rest < 7.5 ? 5.0 : 10.0);
  // A tick that rounding has put just outside still counts.
  const double first = std::ceil(range.low / step - 1e-6);
  const double ticks = std::min(std::floor(range.high / step + 1e-6) - first + 1.0, 4.0 * count);
  std::vector<Tick> result;
  for (int i = 0; i < static_cast<int>(ticks); ++i) result.push_back({(first + i) * step, {}});
  label(result, step);
  return result;
}

}  // namespace npzoo::tools::plot
