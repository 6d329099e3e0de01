#pragma once

#include "npzoo/engine/kernel.h"
#include "npzoo/ops/set_convolution/reach.h"
#include "npzoo/ops/set_convolution/regular_grid.h"

namespace npzoo {

/// Points beside a grid, and the length scales of the weights between them.
template <class T>
struct PointsAndGrid {
  std::int64_t batch, points, channels;
  RegularGrid grid;
  const std::int64_t* lengths;  // (batch), or null for all points
  const T* x;                   // (batch, points, dims)
  const T* scales;              // (channels), or (1)
  bool scale_of_each;           // channel
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
  T* values;       // (batch, points, channels); null: not requested. Behind the lengths 0
  T* moments;      // the same sums with weights times d²; null: not requested
};

/// Gradient of Σ over channels of factors · Σ over nodes of weight · nodes with respect to each point's place.
template <class T>
struct PlaceSlopes {
  PointsAndGrid<T> at;
  const T* nodes;    // (batch, nodes, channels)
  const T* factors;  // (batch, points, channels)
  T* d_x;            // (batch, points, dims); behind the lengths 0
};

NPZOO_KERNEL(points_to_grid, PointsToGrid);

NPZOO_KERNEL(grid_to_points, GridToPoints);

NPZOO_KERNEL(place_slopes, PlaceSlopes);

}  // namespace npzoo
