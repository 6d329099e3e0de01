#include "npzoo/engine/memory.h"
#include "npzoo/engine/precision.h"
#include "npzoo/ops/masked_attention/key_turns_cuda.h"
#include "npzoo/ops/masked_attention/tensor_cores.h"
#include "npzoo/ops/masked_attention/wide_rows_cuda.h"

namespace npzoo {

namespace {

/// The outputs of a block, or of one segment of the keys.
template <class T>
struct Result {
  T* out;
  T* log2_sum;  // may be null
};

/// A lane group's queries and their sums over the keys of a span.
template <class L>
struct Queries {
  using T = typename L::T;

  T channels[L::kRows][L::kChannels];
  T sums[L::kRows][L::kChannels] = {};  // Σ weight · value
  T top[L::kRows];                      // largest score so far
  T total[L::kRows] = {};               // Σ weight, of the keys whose weights this lane computes
  T earlier_top[L::kRows];              // of the spans before, whose sums are in the output
  T earlier_total[L::kRows] = {};
  int visible[L::kRows];  // keys of the tile
};

/// Processes the keys of one step. Each slice keeps its own maxima.
template <class L, bool kLaplace, bool kMasked>
__device__ __forceinline__ void attend_step(const Lane<L>& lane, const typename L::T* keys, const typename L::T* values,
                                            int turn, typename L::T distance_factor, Queries<L>& q) {
  using T = typename L::T;
  T weights[L::kOwn][L::kRows];
  scores<L, kLaplace>(lane, keys, turn, q.channels, weights);
#pragma unroll
  for (int r = 0; r < L::kRows; ++r) {
    T top = q.top[r];
#pragma unroll
    for (int u = 0; u < L::kOwn; ++u) {
      T& score = weights[u][r];
      if (kLaplace) score *= distance_factor;
      if (kMasked && tile_point(lane, turn, own_point(lane, u)) >= q.visible[r]) score = -infinity<T>();
      top = maximum(score, top);
    }
#pragma unroll
    for (int step = 1; step < L::kSharers; step *= 2)
      top = maximum(__shfl_xor_sync(kAllLanes, top, step * L::kOwners), top);
    if (top > q.top[r]) {
      const T factor = exponential2(q.top[r] - top);
      q.top[r] = top;
      q.total[r] *= factor;
#pragma unroll
      for (int c = 0; c < L::kChannels; ++c) q.sums[r][c] *= factor;
    }
    const T shift = top == -infinity<T>() ? T(0) : top;
#pragma unroll
    for (int u = 0; u < L::kOwn; ++u) {
      weights[u][r] = exponential2(weights[u][r] - shift);
      q.total[r] += weights[u][r];
    }
  }
  const auto sees = [&](int i, int r) { return tile_point(lane, turn, i) < q.visible[r]; };
  add_points<L, kMasked>(lane, values, turn, weights, sees, q.sums);
}

/// Brings the slices together and adds their sums over a span of keys to those of the spans before. The last span also
/// divides by the sum of the weights and writes the log-sum-exp.
template <class L>
__device__ void end_span(const AttentionForward<typename L::T>& p, const Lane<L>& lane, const OwnedQueries& owned,
                         int span, bool last, Queries<L>& q, const Result<typename L::T>& to) {
  using T = typename L::T;
  T before[L::kRows];  // factors of the earlier sums
#pragma unroll
  for (int r = 0; r < L::kRows; ++r) {
    constexpr int kSlice = L::kGroup * L::kOwners;  // lanes between slices
    T top = q.top[r];
#pragma unroll
    for (int step = 1; step < L::kSlices; step *= 2) top = maximum(__shfl_xor_sync(kAllLanes, top, step * kSlice), top);
    const T shift = top == -infinity<T>() ? T(0) : top;
    T factor = exponential2(q.top[r] - shift), total = row_sum<L>(q.total[r] * factor);
    before[r] = exponential2(q.earlier_top[r] - shift);
    if (span > 0) total += q.earlier_total[r] * before[r];
    q.earlier_top[r] = top;
    q.earlier_total[r] = total;
    q.total[r] = 0;
    if (last) {
      factor = total == 0 ? T(0) : factor / total;
      before[r] = total == 0 ? T(0) : before[r] / total;
    }
#pragma unroll
    for (int c = 0; c < L::kChannels; ++c) q.sums[r][c] *= factor;
    if (last && to.log2_sum && lane.channel == 0 && lane.slice == 0 && owned.first + r < p.queries)
      to.log2_sum[owned.unit * p.queries + owned.first + r] = log2_of_sum(top, total);
  }
  store_rows(q.sums, lane, owned.first, p.queries, PointView<T>(to.out, p.queries, p.heads, p.value_width, owned.unit),
             span > 0, before);
}

/// One block: a tile of the queries of one head (x), and one segment of the keys (y).
template <class L, bool kLaplace>
__global__ void __launch_bounds__(kMostWarps* kWarp)
    attend(AttentionForward<typename L::T> p, Spread spread, Result<typename L::T> to) {
  using T = typename L::T;
  const Lane<L> lane;
  const OwnedQueries owned(lane, spread);
  Queries<L> q;
  load_rows(PointView<const T>(p.q, p.queries, p.heads, p.width, owned.unit), lane, owned.first, p.queries,
            query_factor<T, kLaplace>(p), q.channels);
#pragma unroll
  for (int r = 0; r < L::kRows; ++r) q.top[r] = q.earlier_top[r] = -infinity<T>();
  to.out += blockIdx.y * (p.batch * p.queries * p.heads * p.value_width);
  if (to.log2_sum) to.log2_sum += blockIdx.y * (p.batch * p.heads * p.queries);
  const auto factor = static_cast<T>(-p.scale * kLog2E);
  const int spans = for_key_turns<L>(
      p, spread, owned, q.visible,
      [&](const T* keys, const T* values, int turn, auto masked) {
        attend_step<L, kLaplace, decltype(masked)::value>(lane, keys, values, turn, factor, q);
      },
      [&](int span) { end_span(p, lane, owned, span, false, q, to); });
  end_span(p, lane, owned, spans, true, q, to);
}

/// Combines the segments of each row, and writes the row's log-sum-exp.
template <class T>
void merge_segments(Cuda& cuda, const AttentionForward<T>& p, std::int64_t segments, const Result<T>& parts) {
  const std::int64_t rows = p.batch * p.heads * p.queries, width = max(p.value_width, std::int64_t{1});
  for_each(cuda, "merge_attention_segments", rows * width,
           [p, segments, parts, rows, width] __device__(std::int64_t i) {
             const std::int64_t row = row_of(p, i, width);
             T top = -infinity<T>();
             for (std::int64_t s = 0; s < segments; ++s) top = maximum(parts.log2_sum[s * rows + row], top);
             const T shift = top == -infinity<T>() ? T(0) : top;
             T total = 0, sum = 0;
             for (std::int64_t s = 0; s < segments; ++s) {
               const T weight = exponential2(parts.log2_sum[s * rows + row] - shift);
               total += weight;
               if (p.value_width > 0) sum += weight * parts.out[s * rows * width + i];
             }
             if (p.value_width > 0) p.out[i] = total == 0 ? sum * T(0) : sum / total;
             if (p.log2_sum && i % width == 0) p.log2_sum[row] = log2_of_sum(top, total);
           });
}

template <class L, bool kLaplace>
void attend_by_tiles(Cuda& cuda, const AttentionForward<typename L::T>& p) {
  using T = typename L::T;
  const std::int64_t units = p.batch * p.heads, rows = units * p.queries;
  const Spread by = spread<L>(cuda, units, p.queries, p.keys);
  const auto start = [&](const Result<T>& to) {
    launch(cuda, "attention_forward", attend<L, kLaplace>, {units * by.tiles, by.segments}, by.warps * kWarp,
           2 * L::kTileBytes + kMostWarps * sizeof(std::int64_t), p, by, to);
  };
  if (by.segments == 1) return start({p.out, p.log2_sum});
  const Buffer buffer(static_cast<std::size_t>(by.segments * rows * (p.value_width + 1)) * sizeof(T), Device::cuda);
  auto* memory = reinterpret_cast<T*>(buffer.data());
  const Result<T> parts{memory, memory + by.segments * rows * p.value_width};
  start(parts);
  merge_segments(cuda, p, by.segments, parts);
}

/// Rows of 16 channels a lane in float: the loads of one key serve many products.
template <class T, int width>
using QueryTiling = Tiling<T, width, (sizeof(T) == 4 && width > 8 ? 16 : 8), 4>;

template <bool kLaplace>
void attend_any_width(Cuda& cuda, const AttentionForward<float>& p) {
  const std::int64_t width = max(p.width, p.value_width);
  if constexpr (kLaplace) {
    if (width <= 16) return attend_by_tiles<QueryTiling<float, 16>, true>(cuda, p);
  } else {
    if (width <= 8) return attend_by_tiles<QueryTiling<float, 8>, false>(cuda, p);
    if (width <= 16) return attend_by_tiles<QueryTiling<float, 16>, false>(cuda, p);
    if (width <= 32) return attend_by_tiles<QueryTiling<float, 32>, false>(cuda, p);
    if (width <= 64) return attend_by_tiles<QueryTiling<float, 64>, false>(cuda, p);
  }
  if (width <= 128) return attend_by_tiles<QueryTiling<float, 128>, kLaplace>(cuda, p);
  attend_wide_rows(cuda, p);
}

template <bool kLaplace>
void attend_any_width(Cuda& cuda, const AttentionForward<double>& p) {
  const std::int64_t width = max(p.width, p.value_width);
  if (width <= 16) return attend_by_tiles<QueryTiling<double, 16>, kLaplace>(cuda, p);
  if (width <= 128) return attend_by_tiles<QueryTiling<double, 128>, kLaplace>(cuda, p);
  attend_wide_rows(cuda, p);
}

}  // namespace

template <class T>
void attention_forward(Cuda& cuda, const AttentionForward<T>& p) {
  if (p.biases.count > 0 || p.scan_chunk > 0) return attend_wide_rows(cuda, p);
  if constexpr (sizeof(T) == 4)
    if (matmul_precision() != Precision::float32 && attention_forward_on_tensor_cores(cuda, p)) return;
  AttentionForward<T> simple = p;
  if (p.score == AttentionScore::uniform) simple.width = 0;  // without channels all products are 0
  if (p.score == AttentionScore::laplace)
    attend_any_width<true>(cuda, simple);
  else
    attend_any_width<false>(cuda, simple);
}

NPZOO_INSTANTIATE(attention_forward, AttentionForward);

}  // namespace npzoo
