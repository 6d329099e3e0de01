#pragma once

// Helpers for the kernels of keys and of queries. Only kernel sources include them.

#include "npzoo/engine/cpu/simd_math.h"
#include "npzoo/engine/cpu/transpose.h"
#include "npzoo/engine/gemm.h"
#include "npzoo/engine/memory.h"
#include "npzoo/ops/random_feature_attention/kernels.h"

/// Tiles of points. Here a point is a column, so that all but the matrix products goes on lane by lane: a row of a tile
/// holds one channel, or one feature, of kPoints points.
namespace npzoo::feature_tile {

using namespace simd;

constexpr std::int64_t kPoints = 64;
/// Points whose contributions to a sum are added up in T; further ones are added in double.
constexpr std::int64_t kBlock = 8 * kPoints;
/// Parts that the points of a batch element are cut into at most, to be summed independently.
constexpr std::int64_t kMostChunks = 32;

/// A multiple of kBlock.
[[gnu::always_inline]] constexpr std::int64_t chunk_length(std::int64_t points) {
  return max(divide_up(divide_up(points, kMostChunks), kBlock), 1) * kBlock;
}
[[gnu::always_inline]] constexpr std::int64_t chunk_count(std::int64_t points) {
  return divide_up(points, chunk_length(points));
}

/// Points rounded up to whole registers.
template <class T>
[[gnu::always_inline]] constexpr std::int64_t padded(std::int64_t points) {
  return divide_up(points, Simd<T>::kLanes) * Simd<T>::kLanes;
}

/// Calls f(first point, points) for the tiles of [begin, end).
template <class F>
[[gnu::always_inline]] inline void for_tiles(std::int64_t begin, std::int64_t end, F f) {
  for (std::int64_t i = begin; i < end; i += kPoints) f(i, min(kPoints, end - i));
}

/// Calls f(i) for the first lane of each register of a tile's row.
template <class T, class F>
[[gnu::always_inline]] inline void for_registers(std::int64_t points, F f) {
  for (std::int64_t i = 0; i < points; i += Simd<T>::kLanes) f(i);
}

/// Working memory of one thread.
template <class T>
struct Tile {
  Tile(const FeatureMap<T>& map, bool backward) {
    const std::int64_t rows = max(map.features, map.width),
                       all = map.width + map.value_width + 1 + (backward ? 2 : 1) * rows;
    memory_ = Buffer(static_cast<std::size_t>(kPoints * all) * sizeof(T));
    x = reinterpret_cast<T*>(memory_.data());
    values = x + kPoints * map.width;
    features = values + kPoints * (map.value_width + 1);
    gradients = features + kPoints * rows;
  }

  T* x;          // (width, kPoints): points
  T* values;     // (value width + 1, kPoints)
  T* features;   // (features, kPoints); large enough for the gradients of points, too
  T* gradients;  // (features, kPoints); there for the backward pass only

 private:
  Buffer memory_;
};

/// Rows of `width` channels become the columns of a tile; what is missing of the last registers becomes 0.
template <class T>
[[gnu::always_inline]] inline void load_points(const T* rows, std::int64_t stride, std::int64_t points,
                                               std::int64_t width, T* tile) {
  load_transposed(rows, stride, points, width, T(1), tile, kPoints);
}

/// The reverse.
template <class T>
[[gnu::always_inline]] inline void store_points(const T* tile, std::int64_t points, std::int64_t width, T* rows,
                                                std::int64_t stride) {
  store_transposed<T>(tile, kPoints, points, width, nullptr, rows, stride);
}

/// Asks for one head's share of the next tile, while this one is worked on. The rows of one head are too far apart for
/// the processor to foresee; those of all heads are neighbours. x is the first point of a batch element.
template <class T>
void prefetch_next(const T* x, std::int64_t row, std::int64_t first, std::int64_t end, std::int64_t head,
                   std::int64_t heads) {
  constexpr std::int64_t kLine = 64 / sizeof(T);
  const std::int64_t begin = (first + kPoints) * row, size = min(kPoints, end - first - kPoints) * row;
  for (std::int64_t i = size * head / heads; i < size * (head + 1) / heads; i += kLine)
    __builtin_prefetch(x + begin + i);
}

/// Zeroes rows [begin, end) of one head.
template <class T>
void clear_rows(T* rows, std::int64_t stride, std::int64_t begin, std::int64_t end, std::int64_t width) {
  for (std::int64_t i = begin; i < end; ++i)
    for (std::int64_t c = 0; c < width; ++c) rows[i * stride + c] = 0;
}

/// Computes w·x − ‖x‖²/2 of the points in tile.x, for every feature: NaN if the norm overflows, −∞ in lanes behind the
/// last point. `shifted` leaves the norm out, which is the same for all features of a point.
template <class T>
[[gnu::always_inline]] inline void exponents(Cpu& cpu, const FeatureMap<T>& map, std::int64_t points, bool shifted,
                                             const Tile<T>& tile) {
  alignas(64) T norms[kPoints];
  if (!shifted)
    for_registers<T>(points, [&](std::int64_t i) {
      Vec<T> sum{};
      for (std::int64_t c = 0; c < map.width; ++c) {
        const Vec<T> x = load(tile.x + c * kPoints + i);
        sum += x * x;
      }
      const auto there = lane_index<T>() < static_cast<typename Simd<T>::Integer>(points - i);
      const Vec<T> norm = sum * (map.scale * T(-0.5)), or_nan = norm + T(0) * norm;  // 0 · ∞ is NaN
      store(norms + i, select(there, or_nan, splat<T>(-Format<T>::kInfinity)));
    });
  gemm_serial<T>(cpu, {.m = map.features,
                       .n = padded<T>(points),
                       .k = map.width,
                       .a = map.projection,
                       .a_row = map.width,
                       .a_col = 1,
                       .b = tile.x,
                       .b_row = kPoints,
                       .b_col = 1,
                       .c = tile.features,
                       .c_row = kPoints,
                       .alpha = map.root_scale,
                       .bias = shifted ? nullptr : norms});
}

/// d_x from the gradients of the exponents in tile.gradients, written as rows. `totals` are their sums for each point,
/// which is what the norm takes, or null where these are 0.
template <class T>
void store_point_gradients(Cpu& cpu, const FeatureMap<T>& map, std::int64_t points, const T* totals,
                           const Tile<T>& tile, T* rows, std::int64_t stride) {
  T* d_x = tile.features;  // no longer needed
  gemm_serial<T>(cpu, {.m = map.width,
                       .n = padded<T>(points),
                       .k = map.features,
                       .a = map.projection,
                       .a_row = 1,
                       .a_col = map.width,
                       .b = tile.gradients,
                       .b_row = kPoints,
                       .b_col = 1,
                       .c = d_x,
                       .c_row = kPoints,
                       .alpha = map.root_scale});
  if (totals)
    for (std::int64_t c = 0; c < map.width; ++c)
      for_registers<T>(points, [&](std::int64_t i) {
        T* at = d_x + c * kPoints + i;
        store(at, load(at) - map.scale * load(tile.x + c * kPoints + i) * load(totals + i));
      });
  store_points(d_x, points, map.width, rows, stride);
}

/// tile.gradients (features, points) = sums · tile.values, without the last column of `sums` (features, value width +
/// 1).
template <class T>
void multiply_values(Cpu& cpu, const FeatureMap<T>& map, std::int64_t points, const T* sums, const Tile<T>& tile) {
  gemm_serial<T>(cpu, {.m = map.features,
                       .n = padded<T>(points),
                       .k = map.value_width,
                       .a = sums,
                       .a_row = map.value_width + 1,
                       .a_col = 1,
                       .b = tile.values,
                       .b_row = kPoints,
                       .b_col = 1,
                       .c = tile.gradients,
                       .c_row = kPoints});
}

/// tile.values (columns, points) = factor · sumsᵀ · tile.features with the first columns of `sums` (features, value
/// width + 1).
template <class T>
void multiply_features(Cpu& cpu, const FeatureMap<T>& map, std::int64_t points, const T* sums, std::int64_t columns,
                       T factor, const Tile<T>& tile) {
  gemm_serial<T>(cpu, {.m = columns,
                       .n = padded<T>(points),
                       .k = map.features,
                       .a = sums,
                       .a_row = 1,
                       .a_col = map.value_width + 1,
                       .b = tile.features,
                       .b_row = kPoints,
                       .b_col = 1,
                       .c = tile.values,
                       .c_row = kPoints,
                       .alpha = factor});
}

/// sums (features, value width + 1) += features · values over the points of a tile; columns behind the last value are
/// left alone. `values` are rows.
template <class T>
void add_products(Cpu& cpu, const FeatureMap<T>& map, std::int64_t points, const T* features, const T* values,
                  bool first, T* sums) {
  gemm_serial<T>(cpu, {.m = map.features,
                       .n = map.value_width,
                       .k = points,
                       .a = features,
                       .a_row = kPoints,
                       .a_col = 1,
                       .b = values,
                       .b_row = map.heads * map.value_width,
                       .b_col = 1,
                       .c = sums,
                       .c_row = map.value_width + 1,
                       .accumulate = !first});
}

}  // namespace npzoo::feature_tile
