#pragma once

#include <cmath>
#include <cstdint>

#include "npzoo/engine/cuda/device_function.h"

namespace npzoo {

/// Nodes origin, origin + step, … along one input.
struct GridAxis {
  double origin = 0;
  double step = 1;  // > 0
  std::int64_t count = 1;

  NPZOO_DEVICE double node(std::int64_t i) const { return origin + static_cast<double>(i) * step; }
  /// The node next to x, which may be NaN: then any.
  double nearest(double x) const {
    const double i = std::nearbyint((x - origin) / step);
    return node(i > 0 ? i < static_cast<double>(count) ? static_cast<std::int64_t>(i) : count - 1 : 0);
  }

  bool operator==(const GridAxis&) const = default;
};

/// A regular grid over one input or two.
struct RegularGrid {
  int dims = 1;
  GridAxis axis[2] = {};  // one input has the second; the first is then a single node, which every point is at

  /// Over one input.
  static RegularGrid over(const GridAxis& axis) { return {1, {{}, axis}}; }
  /// Over two.
  static RegularGrid over(const GridAxis& first, const GridAxis& second) { return {2, {first, second}}; }

  NPZOO_DEVICE std::int64_t nodes() const { return axis[0].count * axis[1].count; }

  bool operator==(const RegularGrid&) const = default;
};

/// Farther away than this many length scales a weight counts for nothing. There it is below exp(−72) = 5e-32, less than
/// the square of the rounding of float64: it is lost beside the weight of any point nearby, and a quotient by
/// density + 1e-8 changes by less than 1e-23.
inline constexpr double kSetConvolutionReach = 12;

/// Nodes [begin, end) of an axis.
struct NodeRange {
  std::int64_t begin, end;
};

/// Those within `reach` of x; all of them where either is NaN, which so reaches everything.
NPZOO_DEVICE inline NodeRange nodes_within(const GridAxis& axis, double x, double reach) {
  const double low = (x - reach - axis.origin) / axis.step, high = (x + reach - axis.origin) / axis.step;
  const auto count = static_cast<double>(axis.count);
  if (!(low <= high)) return {0, axis.count};
  if (high < 0 || low > count - 1) return {0, 0};
  // One node more at each end, in place of ceil and floor: its weight is as good as any.
  return {low > 0 ? static_cast<std::int64_t>(low) : 0,
          high < count - 1 ? static_cast<std::int64_t>(high) + 1 : axis.count};
}

}  // namespace npzoo
