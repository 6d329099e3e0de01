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
  /// Returns the node next to x; any node if x is NaN.
  double nearest(double x) const {
    const double i = std::nearbyint((x - origin) / step);
    return node(i > 0 ? i < static_cast<double>(count) ? static_cast<std::int64_t>(i) : count - 1 : 0);
  }

  bool operator==(const GridAxis&) const = default;
};

/// A regular grid over one input or two. `over` checks the axes and is the only way to make a grid, so every grid has
/// steps above 0 and a number of nodes that fits 64 bits.
class RegularGrid {
 public:
  /// A grid over one input. Throws Error unless origin and step are finite, the step is above 0 and the count 0 or
  /// more.
  static RegularGrid over(const GridAxis& axis);
  /// A grid over two inputs. Throws Error as above, and if the grid has more than 2⁴⁰ nodes.
  static RegularGrid over(const GridAxis& first, const GridAxis& second);

  NPZOO_DEVICE int dims() const { return dims_; }
  /// The axis of an input, 0 or 1.
  NPZOO_DEVICE const GridAxis& along(int input) const { return input + 1 < dims_ ? rows_ : columns_; }
  /// The axis of the first of two inputs. A grid over one input is a single row.
  NPZOO_DEVICE const GridAxis& rows() const { return rows_; }
  /// The axis of the last input.
  NPZOO_DEVICE const GridAxis& columns() const { return columns_; }
  NPZOO_DEVICE std::int64_t nodes() const { return rows_.count * columns_.count; }

  bool operator==(const RegularGrid&) const = default;

 private:
  RegularGrid(int dims, const GridAxis& rows, const GridAxis& columns) : dims_(dims), rows_(rows), columns_(columns) {}

  int dims_;
  GridAxis rows_, columns_;
};

/// Nodes [begin, end) of an axis.
struct NodeRange {
  std::int64_t begin, end;
};

/// Returns the nodes within `reach` of x. A NaN in either reaches all nodes.
NPZOO_DEVICE inline NodeRange nodes_within(const GridAxis& axis, double x, double reach) {
  const double low = (x - reach - axis.origin) / axis.step, high = (x + reach - axis.origin) / axis.step;
  const auto count = static_cast<double>(axis.count);
  if (!(low <= high)) return {0, axis.count};
  if (high < 0 || low > count - 1) return {0, 0};
  // Instead of ceil and floor, the range has up to one node more at each end, with its true weight.
  return {low > 0 ? static_cast<std::int64_t>(low) : 0,
          high < count - 1 ? static_cast<std::int64_t>(high) + 1 : axis.count};
}

}  // namespace npzoo
