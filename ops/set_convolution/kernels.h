#pragma once

#include "npzoo/engine/kernel.h"
#include "npzoo/ops/set_convolution/reach.h"
#include "npzoo/ops/set_convolution/regular_grid.h"

namespace npzoo {

/// Points, a grid, and the length scales of the weights between them.
template <class T>
struct PointsAndGrid {
  std::int64_t batch, points, channels;
  RegularGrid grid;
  const std::int64_t* lengths;  // (batch), or null for all points
  const T* x;                   // (batch, points, dims)
  const T* scales;              // (channels), or (1)
  bool scale_of_each;           // each channel has its own scale
};

/// Returns the reach of the longest scale; NaN, which reaches everything, if a scale is NaN.
template <class T>
NPZOO_DEVICE double reach_of(const PointsAndGrid<T>& p) {
  T longest = 0;
  for (std::int64_t s = 0; s < (p.scale_of_each ? p.channels : 1); ++s) {
    const T length = p.scales[s] < 0 ? -p.scales[s] : p.scales[s];
    if (length > longest || length != length) longest = length;
  }
  return static_cast<double>(longest) * kSetConvolutionReach<T>;
}

/// Returns 1 / (2 l²), the factor of squared distances, limited so that products with it stay finite: a node at a point
/// has the weight exp(−0 · factor) = 1 for every l. The limit makes float take scales below 7e-16 for 7e-16.
template <class T>
NPZOO_DEVICE T inverse_of_scale(T l) {
  constexpr T kLargest = sizeof(T) == 4 ? static_cast<T>(1e30) : static_cast<T>(1e300);
  const T inverse = 1 / (2 * l * l);
  return inverse > kLargest ? kLargest : inverse;
}

/// Tiles of nodes by which points are sorted: a point belongs to the tile of the node next to it. One more tile, the
/// last, has the points with a NaN, which reach every node.
class GridTiles {
 public:
  NPZOO_DEVICE GridTiles(const RegularGrid& grid, std::int64_t tile_rows, std::int64_t tile_columns)
      : rows_{grid.rows(), tile_rows}, columns_{grid.columns(), tile_columns}, dims_(grid.dims()) {}

  NPZOO_DEVICE std::int64_t high() const { return rows_.count(); }
  NPZOO_DEVICE std::int64_t wide() const { return columns_.count(); }
  NPZOO_DEVICE std::int64_t count() const { return high() * wide() + 1; }
  NPZOO_DEVICE std::int64_t row_length() const { return rows_.length; }
  NPZOO_DEVICE std::int64_t column_length() const { return columns_.length; }

  /// Returns the tile of a point.
  template <class T>
  NPZOO_DEVICE std::int64_t of(const T* x) const {
    const double row = dims_ == 2 ? x[0] : 0, column = x[dims_ - 1];
    if (row != row || column != column) return count() - 1;
    return rows_.of(row) * wide() + columns_.of(column);
  }
  /// Returns the rows and the columns of tiles whose points may reach some of these nodes.
  NPZOO_DEVICE NodeRange rows_near(const NodeRange& nodes, double reach) const {
    return dims_ == 2 ? rows_.near(nodes, reach) : NodeRange{0, 1};
  }
  NPZOO_DEVICE NodeRange columns_near(const NodeRange& nodes, double reach) const {
    return columns_.near(nodes, reach);
  }

 private:
  struct Axis {
    GridAxis nodes;
    std::int64_t length;  // nodes of a tile

    NPZOO_DEVICE std::int64_t count() const { return (nodes.count + length - 1) / length; }
    NPZOO_DEVICE std::int64_t of_node(double node) const {
      const auto last = static_cast<double>(nodes.count - 1);
      return node > 0 && last > 0 ? static_cast<std::int64_t>(node < last ? node : last) / length : 0;
    }
    NPZOO_DEVICE std::int64_t of(double x) const { return of_node((x - nodes.origin) / nodes.step); }
    NPZOO_DEVICE NodeRange near(const NodeRange& range, double reach) const {
      const double steps = reach / nodes.step + 2;  // nodes_within may go one node further, and so may a rounding
      if (!(steps < static_cast<double>(nodes.count))) return {0, count()};
      return {of_node(static_cast<double>(range.begin) - steps),
              of_node(static_cast<double>(range.end - 1) + steps) + 1};
    }
  };

  Axis rows_, columns_;
  int dims_;
};

template <class T>
struct PointsToGrid {
  PointsAndGrid<T> at;
  const T* values;  // (batch, points, channels)
  T* nodes;         // (batch, nodes, channels)
};

template <class T>
struct GridToPoints {
  PointsAndGrid<T> at;
  const T* nodes;  // (batch, nodes, channels)
  T* values;       // (batch, points, channels), 0 for padding; null: not requested
  T* moments;      // the same sums with weights times d²; null: not requested
};

/// The gradient of Σ factors · weight · nodes, over channels and nodes, with respect to each point's place.
template <class T>
struct PlaceSlopes {
  PointsAndGrid<T> at;
  const T* nodes;    // (batch, nodes, channels)
  const T* factors;  // (batch, points, channels)
  T* d_x;            // (batch, points, dims), 0 for padding
};

NPZOO_KERNEL(points_to_grid, PointsToGrid);

NPZOO_KERNEL(grid_to_points, GridToPoints);

NPZOO_KERNEL(place_slopes, PlaceSlopes);

}  // namespace npzoo
