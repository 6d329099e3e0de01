#include "npzoo/datasets/tables/outliers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

namespace npzoo {

namespace {

/// −99, 999, 9999.9 and the like.
bool is_all_nines(double value) {
  std::string text = fmt::format("{}", std::abs(value));
  std::erase(text, '.');
  return std::abs(value) >= 99 && text.find_first_not_of('9') == std::string::npos;
}

/// How far `value` is from all values but itself and its equals.
std::optional<FarNumbers> distance_of(double value, std::span<const double> y) {
  constexpr std::int64_t kFewest = 4, kFewestOfNines = 2;
  constexpr double kFarOfNines = 10;
  const bool nines = is_all_nines(value);
  std::int64_t others = 0;
  double mean = 0, squares = 0;
  for (const double v : y) {
    if (v == value) continue;
    const double off = v - mean;
    mean += off / static_cast<double>(++others);
    squares += off * (v - mean);
  }
  if (others < (nines ? kFewestOfNines : kFewest) || !(squares > 0)) return {};
  const double distance = std::abs(value - mean) / std::sqrt(squares / static_cast<double>(others));
  if (!(distance > (nines ? kFarOfNines : kFarFromAll))) return {};
  return FarNumbers{.furthest = value, .count = std::ssize(y) - others, .distance = distance};
}

}  // namespace

std::optional<FarNumbers> far_inputs(std::span<const double> x) {
  constexpr std::size_t kFewest = 4, kShare = 16;
  constexpr double kFar = 50;
  if (x.size() < kFewest) return {};
  std::vector<double> sorted(x.begin(), x.end());
  std::ranges::sort(sorted);
  const std::size_t cut = std::max<std::size_t>(1, sorted.size() / kShare);
  const double low = sorted[cut], high = sorted[sorted.size() - 1 - cut], extent = high - low;
  if (!(extent > 0)) return {};
  FarNumbers far{.low = low, .high = high};
  for (const double v : sorted) {
    const double distance = std::max(low - v, v - high) / extent;
    if (distance > kFar) {
      ++far.count;
      if (distance > far.distance) far.furthest = v, far.distance = distance;
    } else {
      far.low = std::min(far.low, v);
      far.high = std::max(far.high, v);
    }
  }
  return far.count > 0 ? std::optional(far) : std::nullopt;
}

std::optional<FarNumbers> far_values(std::span<const double> y) {
  if (y.empty()) return {};
  const auto [least, largest] = std::ranges::minmax(y);
  const auto low = distance_of(least, y), high = distance_of(largest, y);
  return !low || (high && high->distance > low->distance) ? high : low;
}

}  // namespace npzoo
