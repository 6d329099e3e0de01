#include "npzoo/engine/kernels.h"
#include "npzoo/engine/memory.h"
#include "npzoo/ops/random_feature_attention/sum_points.h"

namespace npzoo {

namespace {

template <class T>
__device__ T limited(T denominator) {
  return denominator < kSmallestDenominator<T> ? kSmallestDenominator<T> : denominator;
}

/// Raises `high` to the largest exponents of this thread's points. Hides NaN, which the features keep.
template <class T>
__device__ void raise(const Fragment<T>& e, int features, T* high) {
  for (int j = 0; j < kColumns; ++j) {
    for (int i = 0; i < kRows; ++i)
      if (row_of(i) < features) high[j] = larger(e[i][j], high[j]);
    for (int step = kColumns; step < kWarp; step *= 2)
      high[j] = larger(__shfl_xor_sync(kAllLanes, high[j], step), high[j]);
  }
}

/// A tile of queries whose features are computed tile by tile.
template <class T>
struct Queries {
  FeatureMap<T> map;
  Rows<T> x;
  const T* sums;  // (features, value width + 1) of the head
  T shift[kColumns];

  __device__ Queries(const FeatureMap<T>& map, const Place& at, const T* q, const T* all_sums)
      : map(map), x(at.rows(map, q, map.width)), sums(all_sums + at.unit * map.features * (map.value_width + 1)) {
    for (T& s : shift) s = map.stabilised ? -infinity<T>() : T(0);
  }

  __device__ std::int64_t stride() const { return map.value_width + 1; }
  __device__ Rows<T> sum_rows(std::int64_t first) const {
    return {sums + first * stride(), stride(), tile_length(first, map.features)};
  }
  __device__ T last_sum(std::int64_t first, int i) const {
    const std::int64_t feature = first + row_of(i);
    return feature < map.features ? sums[feature * stride() + map.value_width] : T(0);
  }

  /// The shifts of all features, where they do not fit one tile.
  __device__ void find_shifts(const Memory<T>& memory) {
    Fragment<T> e;
    for (std::int64_t first = 0; map.stabilised && map.features > kTile && first < map.features; first += kTile) {
      __syncthreads();
      exponents(map, first, x, true, memory, e);
      raise(e, tile_length(first, map.features), shift);
    }
  }

  /// Features of a tile without the normaliser, 0 behind the last; adds their products with the last sums. The block
  /// has synchronised.
  __device__ void features(std::int64_t first, const Memory<T>& memory, Fragment<T>& e, T* denominators) {
    const int count = tile_length(first, map.features);
    exponents(map, first, x, map.stabilised, memory, e);
    if (map.stabilised && map.features <= kTile) raise(e, count, shift);
    for (int i = 0; i < kRows; ++i) {
      const T last = last_sum(first, i);
      for (int j = 0; j < kColumns; ++j) {
        const bool there = row_of(i) < count && point_of(j) < x.count;
        e[i][j] = there ? exponential(e[i][j] - shift[j]) : T(0);
        denominators[j] += e[i][j] * last;
      }
    }
  }
};

/// Grid of a Place.
template <class T>
__global__ void __launch_bounds__(kThreads, kBlocks<T>) attend(AttendToSummaryForward<T> p, int bits) {
  const Memory<T> memory;
  const FeatureMap<T>& map = p.map;
  const Place at(map, map.value_width, bits);
  const std::int64_t row = map.heads * map.value_width;
  T* out = p.out + at.offset(map, map.value_width);
  const bool visible = p.shift[at.unit] != -infinity<T>();
  Queries<T> queries(map, at, p.q, p.sums);
  Fragment<T> sums = {}, e;
  T denominators[kColumns] = {};
  if (visible) queries.find_shifts(memory);
  for (std::int64_t first = 0; visible && first < map.features; first += kTile) {
    __syncthreads();
    stage(queries.sum_rows(first).from(at.column), map.value_width - at.column, bits, memory.operand);
    queries.features(first, memory, e, denominators);
    store(e, memory);
    __syncthreads();
    multiply_features(memory, bits, sums);
  }
  for (int j = 0; j < kColumns; ++j) {
    denominators[j] = map.normaliser * sum_of_lanes(denominators[j]);
    if (lane_id() < kColumns) memory.points[point_of(j)] = denominators[j];
  }
  combine(sums, memory, bits, [&](int point, int column, T sum) {
    const std::int64_t c = at.column + column;
    if (point < at.points && c < map.value_width)
      out[point * row + c] = visible ? map.normaliser * sum / limited(memory.points[point]) : T(0);
  });
  if (!visible || at.column > 0 || warp_id() > 0) return;
  int clamped = 0;
  for (int point = lane_id(); point < at.points; point += kWarp)
    clamped += memory.points[point] < kSmallestDenominator<T>;
  clamped = warp_sum(clamped);
  if (clamped > 0 && lane_id() == 0) atomicAdd(p.clamped, static_cast<unsigned long long>(clamped));
}

/// Features of a tile go to memory.features, and to `products` those of the gradients of the outputs with the sums,
/// which are the gradients of the numerator. The block has synchronised.
template <class T>
__device__ void numerator_gradients(Queries<T>& queries, const Rows<T>& d_out, std::int64_t first,
                                    const Memory<T>& memory, Fragment<T>& products, T* denominators) {
  queries.features(first, memory, products, denominators);
  store(products, memory);
  __syncthreads();
  product<T>(queries.sum_rows(first), d_out, queries.map.value_width, memory, products, nullptr);
}

/// With a = feature · normaliser, y = Σ a sums, out = y / c and c = max(y_last, smallest), the gradient of an exponent
/// is a / c · (d_out · sums − d_out · out · sums_last). Summed over the features that is 0: a quotient does not depend
/// on the norm of its query. Where c is limited, the second term falls away and the sum is d_out · out.
template <class T>
struct PointTotals {
  T inverse[kColumns];    // 1 / c, with the normaliser of the features
  T output[kColumns];     // d_out · out where c depends on the features, else 0
  T exponents[kColumns];  // sum of the gradients of the exponents

  /// From the sums over the features of this thread.
  __device__ PointTotals(T normaliser, const T* denominators, const T* products) {
    for (int j = 0; j < kColumns; ++j) {
      const T denominator = normaliser * sum_of_lanes(denominators[j]);
      inverse[j] = normaliser / limited(denominator);
      const T quotient = sum_of_lanes(products[j]) * inverse[j];
      const bool clamped = denominator < kSmallestDenominator<T>;
      output[j] = clamped ? T(0) : quotient;
      exponents[j] = clamped ? quotient : T(0);
    }
  }
};

/// The sums over features that `query_gradients` needs first.
template <class T>
__device__ PointTotals<T> sum_over_features(Queries<T>& queries, const Rows<T>& d_out, const Memory<T>& memory,
                                            Fragment<T>& products) {
  T denominators[kColumns] = {}, numerators[kColumns] = {};
  for (std::int64_t first = 0; first < queries.map.features; first += kTile) {
    __syncthreads();
    numerator_gradients(queries, d_out, first, memory, products, denominators);
    for (int i = 0; i < kRows; ++i) {
      const Four<T> feature = four(memory.features + row_of(i) * kStride + point_of(0));
      for (int j = 0; j < kColumns; ++j) numerators[j] += feature.x[j] * products[i][j];
    }
  }
  return {queries.map.normaliser, denominators, numerators};
}

/// `gradients` of the numerator become those of the exponents, in memory.features.
template <class T>
__device__ void divide(const Queries<T>& queries, const PointTotals<T>& totals, std::int64_t first,
                       const Memory<T>& memory, Fragment<T>& gradients) {
  for (int i = 0; i < kRows; ++i) {
    const T last = queries.last_sum(first, i);
    const Four<T> feature = four(memory.features + row_of(i) * kStride + point_of(0));
    for (int j = 0; j < kColumns; ++j)
      gradients[i][j] = feature.x[j] * totals.inverse[j] * (gradients[i][j] - totals.output[j] * last);
  }
  store(gradients, memory);
}

template <class T>
__device__ void write_totals(const Queries<T>& queries, const PointTotals<T>& totals, std::int64_t first,
                             const QueryTotals<T>& to) {
  for (int j = 0; j < kColumns && lane_id() < kColumns; ++j)
    if (point_of(j) < queries.x.count) {
      const std::int64_t i = first + point_of(j);
      to.inverse[i] = totals.inverse[j], to.output[i] = totals.output[j], to.shift[i] = queries.shift[j];
    }
}

/// Grid of a Place. Leaves in `totals` what the gradient of the sums needs.
template <class T>
__global__ void __launch_bounds__(kThreads, kBackwardBlocks<T>)
    query_gradients(AttendToSummaryBackward<T> p, int bits, QueryTotals<T> all_totals) {
  const Memory<T> memory;
  const FeatureMap<T>& map = p.map;
  const Place at(map, map.width, bits);
  const bool visible = p.shift[at.unit] != -infinity<T>();
  T* d_q = p.d_q + at.offset(map, map.width);
  Fragment<T> sums = {};
  Queries<T> queries(map, at, p.q, p.sums);
  if (visible) {
    const Rows<T> d_out = at.rows(map, p.d_out, map.value_width);
    Fragment<T> gradients;
    queries.find_shifts(memory);
    const PointTotals<T> totals = sum_over_features(queries, d_out, memory, gradients);
    for (std::int64_t first = 0; first < map.features; first += kTile) {
      T ignored[kColumns] = {};
      __syncthreads();
      if (map.features > kTile) numerator_gradients(queries, d_out, first, memory, gradients, ignored);
      divide(queries, totals, first, memory, gradients);
      stage(Rows<T>{map.projection + first * map.width + at.column, map.width, tile_length(first, map.features)},
            map.width - at.column, bits, memory.operand);
      __syncthreads();
      multiply_features(memory, bits, sums);
    }
    if (at.column == 0) write_totals(queries, totals, at.point(map), all_totals);
    for (int j = 0; j < kColumns && lane_id() < kColumns; ++j) memory.points[point_of(j)] = totals.exponents[j];
  }
  combine(sums, memory, bits, [&](int point, int column, T sum) {
    const std::int64_t c = at.column + column;
    if (point >= at.points || c >= map.width) return;
    T d = map.root_scale * sum;
    if (visible && memory.points[point] != 0)
      d -= map.scale * queries.x.at[point * queries.x.stride + c] * memory.points[point];
    d_q[point * queries.x.stride + c] = d;
  });
}

}  // namespace

template <class T>
void attend_to_summary_forward(Cuda& cuda, const AttendToSummaryForward<T>& p) {
  const int bits = column_bits(p.map.value_width);
  launch(cuda, "attend_to_summary", attend<T>, place_blocks(p.map, p.map.value_width, bits), kThreads,
         Memory<T>::bytes(bits), p, bits);
}

template <class T>
void attend_to_summary_backward(Cuda& cuda, const AttendToSummaryBackward<T>& p) {
  const FeatureMap<T>& map = p.map;
  const std::int64_t units = map.batch * map.heads, points = units * map.points,
                     size = units * map.features * (map.value_width + 1);
  const Buffer per_point(static_cast<std::size_t>(3 * points) * sizeof(T), Device::cuda);
  T* first = reinterpret_cast<T*>(per_point.data());
  const QueryTotals<T> totals{first, first + points, first + 2 * points};
  const int query_bits = column_bits(map.width), bits = column_bits(map.value_width);
  launch(cuda, "attend_to_summary, d_q", query_gradients<T>, place_blocks(map, map.width, query_bits), kThreads,
         Memory<T>::bytes(query_bits), p, query_bits, totals);

  const std::int64_t length = segment_length(cuda, map, bits),
                     segments = max(std::int64_t{1}, divide_up(map.points, length));
  const Buffer partial(static_cast<std::size_t>(segments * size) * sizeof(T), Device::cuda);
  T* sums = segments == 1 ? p.d_sums : reinterpret_cast<T*>(partial.data());
  launch_sum_points<T, true>(cuda, "attend_to_summary, d_sums",
                             {.map = map,
                              .mask = {},
                              .x = p.q,
                              .values = p.d_out,
                              .summary_shift = p.shift,
                              .totals = totals,
                              .bits = bits,
                              .length = length,
                              .sums = sums,
                              .shifts = nullptr},
                             segments);
  if (segments > 1) sum_middle(cuda, SumMiddle<T>{1, segments, size, sums, p.d_sums});
}

NPZOO_INSTANTIATE(attend_to_summary_forward, AttendToSummaryForward);
NPZOO_INSTANTIATE(attend_to_summary_backward, AttendToSummaryBackward);

}  // namespace npzoo
