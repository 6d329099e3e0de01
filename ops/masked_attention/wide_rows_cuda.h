#pragma once

// Attention with heads of any width, with biases and as a scan: a warp for each row. Sums stay in memory. Included by
// kernel sources only.

#include "npzoo/engine/cuda/column_sums.h"
#include "npzoo/engine/memory.h"
#include "npzoo/ops/masked_attention/distance_cuda.h"

namespace npzoo {

namespace {

constexpr int kWideWarps = 4;

template <class T>
struct WideHead {
  __device__ WideHead(const AttentionForward<T>& p, std::int64_t unit)
      : q(p.q, p.queries, p.heads, p.width, unit),
        k(p.k, p.keys, p.heads, p.width, unit),
        v(p.v, p.keys, p.heads, p.value_width, unit),
        out(p.out, p.queries, p.heads, p.value_width, unit) {}

  PointView<const T> q, k, v;
  PointView<T> out;
};

/// Returns the row of this warp. The grid may have a few more warps than there are rows.
__device__ inline std::int64_t wide_row() { return std::int64_t{blockIdx.x} * kWideWarps + warp_id(); }

template <class T>
__device__ __forceinline__ T wide_product(const T* a, const T* b, int width) {
  T sum = 0;
  for (int c = lane_id(); c < width; c += kWarp) sum += a[c] * b[c];
  return warp_sum(sum);
}

/// In units of log 2.
template <class T>
__device__ __forceinline__ T wide_score(const AttentionForward<T>& p, const T* q, const T* k) {
  const auto factor = static_cast<T>(p.scale * kLog2E);
  const int width = static_cast<int>(p.width);
  T sum = 0;
  if (p.score == AttentionScore::laplace) {
    for (int c = lane_id(); c < width; c += kWarp) sum += absolute(k[c] - q[c]);
    return -factor * warp_sum(sum);
  }
  for (int c = lane_id(); c < width; c += kWarp) sum += q[c] * factor * k[c];
  return warp_sum(sum);
}

/// sums += Σ weight · point over `count` points. Lane i holds the weight of point i. With `signs_from`, sums the signs
/// of point − signs_from instead of the points. Skips points whose lane has `met` false: they have weight 0, but may be
/// NaN.
template <class T>
__device__ __forceinline__ void wide_add(const PointView<const T>& points, std::int64_t first, int count, T weight,
                                         bool met, const T* signs_from, T* sums) {
  for (int begin = 0; begin < points.width; begin += kWarp) {
    const int c = begin + lane_id();
    T sum = 0;
    for (int i = 0; i < count; ++i) {
      const T w = __shfl_sync(kAllLanes, weight, i);
      const int i_met = __shfl_sync(kAllLanes, static_cast<int>(met), i);
      if (!i_met || c >= points.width) continue;
      const T x = points.first[(first + i) * points.stride + c];
      sum += w * (!signs_from ? x : x > signs_from[c] ? T(1) : x < signs_from[c] ? T(-1) : T(0));
    }
    if (c < points.width) sums[c] += sum;
  }
}

template <class T>
__device__ __forceinline__ void wide_scale(T* row, int width, T factor) {
  for (int c = lane_id(); c < width; c += kWarp) row[c] *= factor;
}

template <class T>
__device__ __forceinline__ void wide_clear(T* row, int width) {
  for (int c = lane_id(); c < width; c += kWarp) row[c] = 0;
}

/// The sums of a row over many points, in two levels (see kSpanPoints).
template <class T>
struct WideSums {
  T* all;   // the sums over the spans before, and in the end over all points: the result
  T* span;  // the sums over a span; the same as `all` if the points are one span
  int width;

  /// `spans` has room for a row of each warp of the grid, or is null if the points are one span.
  __device__ WideSums(T* result, int width, std::int64_t row, T* spans)
      : all(result), span(spans ? spans + row * width : result), width(width) {
    wide_clear(all, width);
    if (span != all) wide_clear(span, width);
  }
  __device__ void scale(T factor) const {
    wide_scale(all, width, factor);
    if (span != all) wide_scale(span, width, factor);
  }
  /// To be called after the points [first, first + kWarp) of `end`. Returns whether a span has ended.
  __device__ bool end_points(std::int64_t first, std::int64_t end) const {
    if (span == all || ((first + kWarp) % kSpanPoints != 0 && first + kWarp < end)) return false;
    for (int c = lane_id(); c < width; c += kWarp) {
      all[c] += span[c];
      span[c] = 0;
    }
    return true;
  }
};

/// Memory for the spans of `rows` rows of sums over `points` points; none if the points are one span.
template <class T>
Buffer span_memory(std::int64_t rows, std::int64_t width, std::int64_t points) {
  if (points <= kSpanPoints) return {};
  return Buffer(static_cast<std::size_t>(rows * width) * sizeof(T), Device::cuda);
}

template <class T>
__global__ void __launch_bounds__(kWideWarps* kWarp) attend_wide_row(AttentionForward<T> p, T* spans) {
  const std::int64_t row = wide_row();
  if (row >= p.batch * p.heads * p.queries) return;
  const std::int64_t unit = row / p.queries, query = row % p.queries;
  const WideHead<T> at(p, unit);
  const std::int64_t visible = p.mask.visible(unit / p.heads, query, p.keys);
  const T* q = at.q.first + query * at.q.stride;
  const WideSums<T> sums(at.out.first + query * at.out.stride, at.out.width, row, spans);
  const std::int64_t chunk = p.scan_chunk > 0 ? p.scan_chunk : visible;
  T top = p.scan_chunk > 0 ? static_cast<T>(kLeastTop * kLog2E) : -infinity<T>(), total = 0, of_span = 0;
  for (std::int64_t first = 0, count = 0; first < visible; first += count) {
    count = min(std::int64_t{kWarp}, min(visible, (first / chunk + 1) * chunk) - first);
    T score = -infinity<T>(), before = top;
    for (int i = 0; i < count; ++i) {
      const T of_key = wide_score(p, q, at.k.first + (first + i) * at.k.stride);
      if (i == lane_id()) score = of_key;
    }
    if (p.biases.count > 0 && lane_id() < count)
      score += static_cast<T>(kLog2E) * bias_of(p, unit, query, first + lane_id());
    top = maximum(warp_max(score), top);
    const T shift = top == -infinity<T>() ? T(0) : top, weight = exponential2(score - shift);
    const T factor = exponential2(before - shift);
    of_span = of_span * factor + warp_sum(weight);
    total *= factor;
    if (factor != 1) sums.scale(factor);
    if (p.scan_chunk > 0 && (first + count) % chunk == 0) of_span += static_cast<T>(kScanEpsilon);
    wide_add(at.v, first, static_cast<int>(count), weight, true, static_cast<const T*>(nullptr), sums.span);
    if (!sums.end_points(first, visible)) continue;
    total += of_span;
    of_span = 0;
  }
  total += of_span + static_cast<T>(kScanEpsilon) * static_cast<T>(chunks_behind(p, visible));
  sums.scale(total == 0 ? T(0) : 1 / total);
  if (p.log2_sum && lane_id() == 0) p.log2_sum[row] = log2_of_sum(top, total);
}

template <class T>
void attend_wide_rows(Cuda& cuda, const AttentionForward<T>& p) {
  const std::int64_t rows = p.batch * p.heads * p.queries;
  const Buffer spans = span_memory<T>(rows, p.value_width, p.keys);
  launch(cuda, "attention_forward_wide", attend_wide_row<T>, divide_up(rows, kWideWarps), kWideWarps * kWarp, 0, p,
         reinterpret_cast<T*>(spans.data()));
}

/// A pair whose products a warp has computed, and which one lane finishes.
template <class T>
struct WidePair {
  T score = 0, d_weight = 0;

  /// Adds the biases and returns the weight; `d_score` is the gradient of the score.
  __device__ T weigh(const AttentionForward<T>& p, std::int64_t unit, std::int64_t query, std::int64_t key, T mean,
                     T& d_score) const {
    const T log2_sum = p.log2_sum[unit * p.queries + query];
    const T biased = p.biases.count > 0 ? score + static_cast<T>(kLog2E) * bias_of(p, unit, query, key) : score;
    const T weight = exponential2(biased - (log2_sum == -infinity<T>() ? infinity<T>() : log2_sum));
    d_score = weight * (d_weight - mean);
    return weight;
  }
};

template <class T>
__device__ __forceinline__ WidePair<T> wide_pair(const AttentionForward<T>& p, const T* q, const T* k, const T* v,
                                                 const T* d_out) {
  return {wide_score(p, q, k), wide_product(v, d_out, static_cast<int>(p.value_width))};
}

/// d_q of one row, and Σ out · d_out less the gradient of its log-sum-exp. `bias_rows` is (batch, queries, heads,
/// columns of the biases): the gradients of their parameters from one row each; null if nobody needs them.
template <class T>
__global__ void __launch_bounds__(kWideWarps* kWarp)
    wide_query_gradient(AttentionBackward<T> b, T* means, T* spans, T* bias_rows) {
  const AttentionForward<T>& p = b.forward;
  const std::int64_t row = wide_row();
  if (row >= p.batch * p.heads * p.queries) return;
  const std::int64_t unit = row / p.queries, query = row % p.queries;
  const WideHead<T> at(p, unit);
  const std::int64_t visible = p.mask.visible(unit / p.heads, query, p.keys);
  const T* q = at.q.first + query * at.q.stride;
  T* d_q = PointView<T>(b.d_q, p.queries, p.heads, p.width, unit).first + query * at.q.stride;
  const T* d_out = PointView<const T>(b.d_out, p.queries, p.heads, p.value_width, unit).first + query * at.out.stride;
  const T mean =
      wide_product(at.out.first + query * at.out.stride, d_out, at.out.width) - (b.d_log_sum ? b.d_log_sum[row] : T(0));
  if (lane_id() == 0) means[row] = mean;
  const std::int64_t columns = p.biases.columns();
  T* of_biases = bias_rows + ((unit / p.heads * p.queries + query) * p.heads + unit % p.heads) * columns;
  if (bias_rows) wide_clear(of_biases, static_cast<int>(columns));
  __syncwarp();
  const bool laplace = p.score == AttentionScore::laplace;
  const WideSums<T> sums(d_q, at.q.width, row, spans);
  for (std::int64_t first = 0; first < visible; first += kWarp) {
    const int count = visible_here(visible, first, kWarp);
    T d_score = 0;
    WidePair<T> own;
    for (int i = 0; i < count; ++i) {
      const auto pair =
          wide_pair(p, q, at.k.first + (first + i) * at.k.stride, at.v.first + (first + i) * at.v.stride, d_out);
      if (i == lane_id()) own = pair;
    }
    if (lane_id() < count) own.weigh(p, unit, query, first + lane_id(), mean, d_score);
    if (bias_rows) add_bias_slopes(p, unit, query, first + lane_id(), d_score, of_biases);
    wide_add(at.k, first, count, d_score, true, laplace ? q : nullptr, sums.span);
    sums.end_points(first, visible);
  }
  wide_scale(d_q, at.q.width, static_cast<T>(p.scale));
}

/// d_k and d_v of one key.
template <class T>
__global__ void __launch_bounds__(kWideWarps* kWarp)
    wide_key_gradient(AttentionBackward<T> b, const T* means, T* d_k_spans, T* d_v_spans) {
  const AttentionForward<T>& p = b.forward;
  const std::int64_t row = wide_row();
  if (row >= p.batch * p.heads * p.keys) return;
  const std::int64_t unit = row / p.keys, key = row % p.keys;
  const WideHead<T> at(p, unit);
  const PointView<const T> d_out(b.d_out, p.queries, p.heads, p.value_width, unit);
  const T *k = at.k.first + key * at.k.stride, *v = at.v.first + key * at.v.stride;
  T* d_k = PointView<T>(b.d_k, p.keys, p.heads, p.width, unit).first + key * at.k.stride;
  T* d_v = PointView<T>(b.d_v, p.keys, p.heads, p.value_width, unit).first + key * at.v.stride;
  const bool laplace = p.score == AttentionScore::laplace;
  const WideSums<T> of_k(d_k, at.k.width, row, d_k_spans), of_v(d_v, at.v.width, row, d_v_spans);
  for (std::int64_t first = 0; first < p.queries; first += kWarp) {
    const int count = visible_here(p.queries, first, kWarp);
    const bool sees = lane_id() < count && p.mask.visible(unit / p.heads, first + lane_id(), p.keys) > key;
    const bool any = __any_sync(kAllLanes, sees);
    WidePair<T> own;
    for (int i = 0; any && i < count; ++i) {
      if (!__shfl_sync(kAllLanes, static_cast<int>(sees), i)) continue;
      const std::int64_t query = first + i;
      const auto pair = wide_pair(p, at.q.first + query * at.q.stride, k, v, d_out.first + query * d_out.stride);
      if (i == lane_id()) own = pair;
    }
    if (any) {
      const std::int64_t query = first + lane_id();
      T weight = 0, d_score = 0;
      if (sees) weight = own.weigh(p, unit, query, key, means[unit * p.queries + query], d_score);
      wide_add(d_out, first, count, weight, sees, static_cast<const T*>(nullptr), of_v.span);
      wide_add(at.q, first, count, d_score, sees, laplace ? k : nullptr, of_k.span);
    }
    of_v.end_points(first, p.queries);
    of_k.end_points(first, p.queries);
  }
  wide_scale(d_k, at.k.width, static_cast<T>(p.scale));
}

/// Visits rows of numbers, to add up their columns.
template <class T>
struct RowsToSum {
  const T* rows;
  std::int64_t width;

  __device__ T read(std::int64_t row, std::int64_t column) const { return rows[row * width + column]; }
  __device__ void add(std::int64_t, std::int64_t, T x, T (&sums)[1][1]) const { sums[0][0] += x; }
};

template <class T>
void wide_gradients(Cuda& cuda, const AttentionBackward<T>& b, T* means) {
  const AttentionForward<T>& p = b.forward;
  const auto blocks = [&p](std::int64_t points) { return divide_up(p.batch * p.heads * points, kWideWarps); };
  const std::int64_t heads = p.batch * p.heads, columns = b.d_biases ? p.heads * p.biases.columns() : 0;
  {
    const Buffer bias_buffer(static_cast<std::size_t>(p.batch * p.queries * columns) * sizeof(T), Device::cuda);
    T* bias_rows = columns > 0 ? reinterpret_cast<T*>(bias_buffer.data()) : nullptr;
    const Buffer spans = span_memory<T>(heads * p.queries, p.width, p.keys);
    launch(cuda, "attention_d_q_wide", wide_query_gradient<T>, blocks(p.queries), kWideWarps * kWarp, 0, b, means,
           reinterpret_cast<T*>(spans.data()), bias_rows);
    visit_and_sum<T, 1, 1>(cuda, "attention_d_biases", p.batch * p.queries, columns, RowsToSum<T>{bias_rows, columns},
                           ColumnSums<T, 1>{{b.d_biases}});
  }
  const Buffer of_k = span_memory<T>(heads * p.keys, p.width, p.queries),
               of_v = span_memory<T>(heads * p.keys, p.value_width, p.queries);
  launch(cuda, "attention_d_kv_wide", wide_key_gradient<T>, blocks(p.keys), kWideWarps * kWarp, 0, b,
         static_cast<const T*>(means), reinterpret_cast<T*>(of_k.data()), reinterpret_cast<T*>(of_v.data()));
}

}  // namespace

}  // namespace npzoo
