#include "npzoo/datasets/tables/outliers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace npzoo {

namespace {

/// −99, 999, 9999.9 and the like.
bool is_all_nines(double value) {
  std::string text = fmt::format("{}", std::abs(value));
  std::erase(text, '.');
  return std::abs(value) >= 99 && text.find_first_not_of('9') == std::string::npos;
}

constexpr std::size_t kMostFar = 4;  // different values

/// The mean and deviation of values without some of them.
struct Others {
  std::int64_t count = 0;
  double mean = 0, std = 0;

  Others(std::span<const double> y, std::span<const double> without) {
    double squares = 0;
    for (const double v : y) {
      if (std::ranges::find(without, v) != without.end()) continue;
      const double off = v - mean;
      mean += off / static_cast<double>(++count);
      squares += off * (v - mean);
    }
    std = std::sqrt(squares / static_cast<double>(std::max<std::int64_t>(1, count)));
  }
  double distance(double value) const { return std > 0 ? std::abs(value - mean) / std : 0; }
};

/// These values, if each is far from all others.
std::optional<FarNumbers> far_together(std::vector<double> values, std::span<const double> y) {
  constexpr std::int64_t kFewest = 4, kFewestOfNines = 2;
  constexpr double kFarOfNines = 10;
  const bool nines = values.size() == 1 && is_all_nines(values[0]);
  const Others others(y, values);
  if (others.count < (nines ? kFewestOfNines : kFewest)) return {};
  FarNumbers far{.count = std::ssize(y) - others.count};
  for (const double value : values) {
    const double distance = others.distance(value);
    if (!(distance > (nines ? kFarOfNines : kFarFromAll))) return {};
    if (distance > far.distance) far.furthest = value, far.distance = distance;
  }
  far.values = std::move(values);
  return far;
}

/// The first different values in an order, from the furthest on.
template <class Order>
std::vector<double> ends_of(std::span<const double> y, Order before) {
  std::vector<double> ends;
  for (const double v : y) {
    const auto place = std::ranges::lower_bound(ends, v, before);
    if (ends.size() == kMostFar && place == ends.end()) continue;
    if (place != ends.end() && *place == v) continue;
    ends.insert(place, v);
    if (ends.size() > kMostFar) ends.pop_back();
  }
  return ends;
}

/// The most values at both ends, two or more, that are far from all others.
std::optional<FarNumbers> several_far(std::span<const double> y) {
  const std::vector<double> low = ends_of(y, std::less()), high = ends_of(y, std::greater());
  std::vector<double> all = low;
  all.insert(all.end(), high.begin(), high.end());
  const Others inner(y, all);
  if (inner.distance(low[0]) <= kFarFromAll && inner.distance(high[0]) <= kFarFromAll) return {};
  for (std::size_t number = kMostFar; number > 1; --number)
    for (std::size_t below = 0; below <= number; ++below) {
      if (below > low.size() || number - below > high.size()) continue;
      std::vector<double> some(low.begin(), low.begin() + static_cast<std::ptrdiff_t>(below));
      some.insert(some.end(), high.begin(), high.begin() + static_cast<std::ptrdiff_t>(number - below));
      if (std::optional<FarNumbers> found = far_together(std::move(some), y)) return found;
    }
  return {};
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
  if (auto several = several_far(y)) return several;
  const auto [least, largest] = std::ranges::minmax(y);
  const auto low = far_together({least}, y), high = far_together({largest}, y);
  return !low || (high && high->distance > low->distance) ? high : low;
}

}  // namespace npzoo
