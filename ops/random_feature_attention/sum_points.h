#pragma once

// Sums over points, of keys forward and of queries backward. Included by kernel sources only.

#include <limits>

#include "npzoo/ops/random_feature_attention/feature_block.h"

namespace npzoo {

namespace {

/// For each query, (batch, heads, points): the divisor and the shift of its features.
template <class T>
struct QueryTotals {
  T* inverse;  // of the denominator, with the normaliser of the features
  T* output;   // d_out · out where the denominator depends on the features, else 0
  T* shift;
};

/// Σ φ [values, 1] over a segment of points. Of keys φ is relative to a shift of the segment's own; of queries it is
/// divided by the denominator, and the last column is −Σ φ · output.
template <class T>
struct PointSums {
  FeatureMap<T> map;
  PrefixRule mask;  // of keys
  const T* x;
  const T* values;
  const T* summary_shift;  // of queries
  QueryTotals<T> totals;   // of queries
  int bits;                // log₂ of the columns of a block
  std::int64_t length;     // of a segment
  T* sums;                 // (segments, batch, heads, features, value width + 1)
  T* shifts;               // (segments, batch, heads, tiles of features), of keys
};

/// Points that a thread sums in T, unless there would be too many segments; these are added in double.
constexpr std::int64_t kLongestSegment = 4096, kMostSegments = 65535;

/// Enough blocks for the device, each with enough points. A multiple of kTile.
template <class T>
std::int64_t segment_length(const Cuda& cuda, const FeatureMap<T>& map, int bits) {
  const std::int64_t blocks = map.batch * map.heads * divide_up(map.features, kTile) *
                              max(std::int64_t{1}, column_tiles(map.value_width, bits)),
                     wanted = divide_up(8 * cuda.multiprocessors, max(std::int64_t{1}, blocks)),
                     length = max(divide_up(map.points, wanted), std::int64_t{2 * kTile});
  return divide_up(max(min(length, kLongestSegment), divide_up(map.points, kMostSegments)), kTile) * kTile;
}

/// The sums of a block.
struct Segment {
  std::int64_t feature, column, unit, batch, head, begin, end;

  template <class T>
  __device__ Segment(const PointSums<T>& p, bool queries) {
    const std::int64_t features = divide_up(p.map.features, kTile),
                       columns = max(std::int64_t{1}, column_tiles(p.map.value_width, p.bits));
    std::int64_t block = blockIdx.x;
    feature = block % features * kTile, block /= features;
    column = block % columns << p.bits, unit = block / columns;
    batch = unit / p.map.heads, head = unit % p.map.heads;
    const std::int64_t visible = !queries                                  ? p.mask.visible(batch, 0, p.map.points)
                                 : p.summary_shift[unit] == -infinity<T>() ? 0
                                                                           : p.map.points;
    begin = blockIdx.y * p.length, end = min(begin + p.length, visible);
  }
};

/// The largest exponent of a tile, in every thread; at least the lowest number, since −∞ says that there is no key.
/// Hides NaN, which the features keep.
template <class T>
__device__ T largest_exponent(const Fragment<T>& e, int features, int points, const Memory<T>& memory) {
  T high = std::numeric_limits<T>::lowest();
  for (int i = 0; i < kRows; ++i)
    for (int j = 0; j < kColumns; ++j)
      if (row_of(i) < features && point_of(j) < points) high = larger(e[i][j], high);
  high = warp_max(high);
  if (lane_id() == 0) memory.points[warp_id()] = high;
  __syncthreads();
  for (int warp = 0; warp < kWarps; ++warp) high = larger(memory.points[warp], high);
  return high;
}

/// Rescales the sums to a larger shift.
template <class T>
__device__ void raise_shift(T to, T& shift, Fragment<T>& sums, T* last) {
  if (!(to > shift)) return;
  const T factor = exponential(shift - to);
  for (int i = 0; i < kRows; ++i) {
    last[i] *= factor;
    for (int j = 0; j < kColumns; ++j) sums[i][j] *= factor;
  }
  shift = to;
}

/// Exponents become features of keys; adds to the last column.
template <class T>
__device__ void key_features(int features, int points, T shift, Fragment<T>& e, T* last) {
  for (int j = 0; j < kColumns; ++j)
    for (int i = 0; i < kRows; ++i) {
      const bool there = row_of(i) < features && point_of(j) < points;
      last[i] += e[i][j] = there ? exponential(e[i][j] - shift) : T(0);
    }
}

/// The same of queries; `first` is the first one's place in the totals.
template <class T>
__device__ void query_features(const QueryTotals<T>& totals, std::int64_t first, int features, int points,
                               Fragment<T>& e, T* last) {
  for (int j = 0; j < kColumns; ++j) {
    const bool point_there = point_of(j) < points;
    const std::int64_t at = first + (point_there ? point_of(j) : 0);
    const T inverse = totals.inverse[at], output = totals.output[at], shift = totals.shift[at];
    for (int i = 0; i < kRows; ++i) {
      const bool there = point_there && row_of(i) < features;
      e[i][j] = there ? exponential(e[i][j] - shift) * inverse : T(0);
      last[i] -= there ? e[i][j] * output : T(0);
    }
  }
}

/// The last column: over the lanes that share a feature, then over the warps.
template <class T>
__device__ void write_last_column(T* last, int features, std::int64_t stride, const Memory<T>& memory, T* to) {
  for (int i = 0; i < kRows; ++i)
    for (int step = 1; step < kColumns; step *= 2) last[i] += __shfl_xor_sync(kAllLanes, last[i], step);
  __syncthreads();
  for (int i = 0; i < kRows && first_column() == 0; ++i) memory.features[warp_id() * kTile + row_of(i)] = last[i];
  __syncthreads();
  const int row = static_cast<int>(threadIdx.x);
  if (row >= features) return;
  T sum = 0;
  for (int warp = 0; warp < kWarps; ++warp) sum += memory.features[warp * kTile + row];
  to[row * stride] = sum;
}

/// Grid (batch · heads · tiles of columns · tiles of features, segments).
template <class T, bool queries>
__global__ void __launch_bounds__(kThreads, kBlocks<T>) sum_points(PointSums<T> p) {
  const Memory<T> memory;
  const FeatureMap<T>& map = p.map;
  const Segment at(p, queries);
  const std::int64_t row = map.heads * map.width, value_row = map.heads * map.value_width;
  const int features = tile_length(at.feature, map.features);
  Fragment<T> sums = {}, e;
  T last[kRows] = {}, shift = -infinity<T>();
  for (std::int64_t first = at.begin; first < at.end; first += kTile) {
    const int points = tile_length(first, at.end);
    const std::int64_t point = at.batch * map.points + first;
    __syncthreads();
    stage(Rows<T>{p.values + point * value_row + at.head * map.value_width + at.column, value_row, points},
          map.value_width - at.column, p.bits, memory.operand);
    exponents(map, at.feature, Rows<T>{p.x + point * row + at.head * map.width, row, points}, queries && map.stabilised,
              memory, e);
    if constexpr (queries) {
      query_features(p.totals, at.unit * map.points + first, features, points, e, last);
    } else {
      raise_shift(map.stabilised ? largest_exponent(e, features, points, memory) : T(0), shift, sums, last);
      key_features(features, points, shift, e, last);
    }
    store_transposed(e, memory);
    __syncthreads();
    multiply_features(memory, p.bits, sums);
  }
  const std::int64_t stride = map.value_width + 1, units = map.batch * map.heads, unit = blockIdx.y * units + at.unit;
  T* to = p.sums + (unit * map.features + at.feature) * stride;
  combine(sums, memory, p.bits, [&](int f, int c, T sum) {
    if (f < features && at.column + c < map.value_width) to[f * stride + at.column + c] = sum;
  });
  if (at.column > 0) return;
  write_last_column(last, features, stride, memory, to + map.value_width);
  if (!queries && threadIdx.x == 0) p.shifts[unit * divide_up(map.features, kTile) + at.feature / kTile] = shift;
}

template <class T, bool queries>
void launch_sum_points(Cuda& cuda, const char* name, const PointSums<T>& p, std::int64_t segments) {
  const std::int64_t blocks = p.map.batch * p.map.heads * divide_up(p.map.features, kTile) *
                              max(std::int64_t{1}, column_tiles(p.map.value_width, p.bits));
  launch(cuda, name, sum_points<T, queries>, {blocks, segments}, kThreads, Memory<T>::bytes(p.bits), p);
}

}  // namespace

}  // namespace npzoo
