#pragma once

#include "npzoo/engine/cuda/device_function.h"
#include "npzoo/engine/kernel.h"

namespace npzoo {

/// x (batch, points, dim_x), y (batch, points, dim_y), noise (batch, points, dim_x²) or null, lengths (batch) or null,
/// out (batch, points − first, taylor_width).
template <class T>
struct LocalTaylorPoints {
  std::int64_t batch, points, context, first, dim_x, dim_y;
  const std::int64_t* lengths;
  const T* x;
  const T* y;
  const T* noise;
  T* out;
};

/// x (points, dim_x), out (points, dim_x, width).
template <class T>
struct InputEncoding {
  std::int64_t points, dim_x, width;
  double least, ratio;
  const T* x;
  T* out;
};

/// Channels of a point, in the order of LocalTaylor.
NPZOO_DEVICE constexpr std::int64_t taylor_width(std::int64_t dim_x, std::int64_t dim_y) {
  return 4 * dim_x * dim_y + 2 * dim_x * dim_x + dim_y;
}

inline constexpr std::int64_t kMostTaylorInputs = 2;

/// The nearest points that a point may know of.
struct TaylorNeighbours {
  std::int64_t count;
  std::int64_t index[kMostTaylorInputs];
};

template <class T>
NPZOO_DEVICE TaylorNeighbours taylor_neighbours(const LocalTaylorPoints<T>& p, std::int64_t b, std::int64_t i) {
  const std::int64_t real = p.lengths != nullptr ? p.lengths[b] : p.context;
  const T* x = p.x + b * p.points * p.dim_x;
  TaylorNeighbours near{0, {i, i}};
  if (i < p.context && i >= real) return near;
  T distance[kMostTaylorInputs] = {0, 0};
  const std::int64_t end = i < p.context ? real : i;
  for (std::int64_t j = 0; j < end; ++j) {
    if (j == real) j = p.context;
    if (j >= end) break;
    if (j == i) continue;
    T square = 0;
    for (std::int64_t d = 0; d < p.dim_x; ++d) {
      const T step = x[i * p.dim_x + d] - x[j * p.dim_x + d];
      square += step * step;
    }
    std::int64_t place = near.count;
    while (place > 0 && square < distance[place - 1]) --place;
    if (place >= p.dim_x) continue;
    for (std::int64_t k = p.dim_x - 1; k > place; --k) {
      distance[k] = distance[k - 1];
      near.index[k] = near.index[k - 1];
    }
    distance[place] = square;
    near.index[place] = j;
    if (near.count < p.dim_x) ++near.count;
  }
  if (near.count == 1) near.index[1] = near.index[0];
  return near;
}

/// A point and one of its neighbours.
template <class T>
struct TaylorPair {
  const LocalTaylorPoints<T>& p;
  std::int64_t b, i, which, neighbour;

  NPZOO_DEVICE T x_near(std::int64_t d) const {
    const T x = p.x[(b * p.points + neighbour) * p.dim_x + d];
    return p.noise == nullptr || neighbour == i
               ? x
               : x + p.noise[(b * p.points + i) * p.dim_x * p.dim_x + which * p.dim_x + d];
  }
  NPZOO_DEVICE T x_difference(std::int64_t d) const { return p.x[(b * p.points + i) * p.dim_x + d] - x_near(d); }
  NPZOO_DEVICE T y_near(std::int64_t c) const {
    return neighbour == i ? T(0) : p.y[(b * p.points + neighbour) * p.dim_y + c];
  }
  NPZOO_DEVICE T y_difference(std::int64_t c) const {
    return neighbour == i ? T(0) : p.y[(b * p.points + i) * p.dim_y + c] - y_near(c);
  }
};

/// Derivative of channel c by input d at point i, as estimated and, of one input, without its sign where it is not
/// wanted.
template <class T>
NPZOO_DEVICE T taylor_derivative(const LocalTaylorPoints<T>& p, std::int64_t b, std::int64_t i,
                                 const TaylorNeighbours& near, std::int64_t d, std::int64_t c, bool with_sign) {
  const TaylorPair<T> one{p, b, i, 0, near.index[0]};
  if (p.dim_x == 1) {
    const T step = one.x_difference(0), distance = T(2e-6) + (step < 0 ? -step : step);
    return (with_sign && step < 0 ? -one.y_difference(c) : one.y_difference(c)) / distance;
  }
  const TaylorPair<T> two{p, b, i, 1, near.index[1]};
  const T a0 = one.x_difference(0), a1 = one.x_difference(1), b0 = two.x_difference(0), b1 = two.x_difference(1);
  const T determinant = a0 * b1 - a1 * b0, size = a0 * b1 < 0 ? -(a0 * b1) : a0 * b1;
  // If the neighbours lie on one line with the point, this is rounding noise.
  constexpr T kLeast = sizeof(T) == 4 ? T(1e-6) : T(1e-14);
  if (!(determinant > kLeast * size || -determinant > kLeast * size)) return T(1e30);
  return (d == 0 ? one.y_difference(c) * b1 - a1 * two.y_difference(c)
                 : a0 * two.y_difference(c) - b0 * one.y_difference(c)) /
         determinant;
}

template <class T>
NPZOO_DEVICE bool taylor_keeps(T derivative) {
  return derivative >= T(-200) && derivative <= T(200);
}

/// All channels of point i of row b.
template <class T>
NPZOO_DEVICE void local_taylor_point(const LocalTaylorPoints<T>& p, std::int64_t b, std::int64_t i) {
  const std::int64_t k = p.dim_x, dy = p.dim_y, width = taylor_width(k, dy);
  T* out = p.out + (b * (p.points - p.first) + i - p.first) * width;
  const std::int64_t real = p.lengths != nullptr ? p.lengths[b] : p.context;
  if (i < p.context && i >= real) {
    for (std::int64_t j = 0; j < width; ++j) out[j] = 0;
    return;
  }
  const TaylorNeighbours near = taylor_neighbours(p, b, i);
  for (std::int64_t n = 0; n < k; ++n) {
    const TaylorPair<T> pair{p, b, i, n, near.index[n]};
    for (std::int64_t c = 0; c < dy; ++c) {
      out[n * dy + c] = pair.y_difference(c);
      out[3 * k * dy + n * dy + c] = pair.y_near(c);
    }
    for (std::int64_t d = 0; d < k; ++d) {
      out[4 * k * dy + n * k + d] = pair.x_difference(d);
      out[4 * k * dy + k * k + n * k + d] = pair.x_near(d);
    }
  }
  const TaylorPair<T> nearest{p, b, i, 0, near.index[0]};
  const TaylorNeighbours beyond = near.count > 0 ? taylor_neighbours(p, b, near.index[0]) : near;
  for (std::int64_t c = 0; c < dy; ++c) {
    T first_order = 0;
    for (std::int64_t d = 0; d < k; ++d) {
      const T here = near.count == k ? taylor_derivative(p, b, i, near, d, c, false) : T(0);
      const bool keep = near.count == k && taylor_keeps(here);
      out[k * dy + d * dy + c] = keep ? here : T(0);
      out[2 * k * dy + d * dy + c] = keep ? T(1) : T(0);
      if (beyond.count < k) continue;
      const T there = taylor_derivative(p, b, near.index[0], beyond, d, c, true);
      if (taylor_keeps(there)) first_order += there * nearest.x_difference(d);
    }
    out[width - dy + c] = first_order;
  }
}

NPZOO_KERNEL(local_taylor_points, LocalTaylorPoints);
NPZOO_KERNEL(input_encoding, InputEncoding);

}  // namespace npzoo
