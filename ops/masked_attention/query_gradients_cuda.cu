#include "npzoo/engine/memory.h"
#include "npzoo/ops/masked_attention/gradients_cuda.h"
#include "npzoo/ops/masked_attention/key_turns_cuda.h"

namespace npzoo {

namespace {

/// A lane group's queries.
template <class L>
struct Queries {
  using T = typename L::T;

  T channels[L::kRows][L::kChannels];
  T d_out[L::kRows][L::kChannels];
  T sums[L::kRows][L::kChannels] = {};  // Σ d_score · key over a span of keys
  T log2_sum[L::kRows];
  T mean[L::kRows];
  T total[L::kRows] = {};    // Σ weight over the span, of the keys whose weights this lane computes
  T earlier[L::kRows] = {};  // Σ weight over the spans before
  int visible[L::kRows];     // keys of the tile
};

template <class L, bool kLaplace, bool kMasked>
__device__ __forceinline__ void query_step(const Lane<L>& lane, const typename L::T* keys, const typename L::T* values,
                                           int turn, typename L::T distance_factor, Queries<L>& q) {
  using T = typename L::T;
  T score[L::kOwn][L::kRows], d_score[L::kOwn][L::kRows];
  scores<L, kLaplace>(lane, keys, turn, q.channels, score);
  scores<L, false>(lane, values, turn, q.d_out, d_score);
#pragma unroll
  for (int u = 0; u < L::kOwn; ++u) {
#pragma unroll
    for (int r = 0; r < L::kRows; ++r) {
      T weight = exponential2((kLaplace ? score[u][r] * distance_factor : score[u][r]) - q.log2_sum[r]);
      d_score[u][r] = weight * (d_score[u][r] - q.mean[r]);
      if (kMasked && tile_point(lane, turn, own_point(lane, u)) >= q.visible[r]) weight = d_score[u][r] = 0;
      q.total[r] += weight;
    }
  }
  const auto sees = [&](int i, int r) { return tile_point(lane, turn, i) < q.visible[r]; };
  if constexpr (kLaplace)
    add_signs<L, kMasked>(lane, keys, turn, d_score, sees, q.channels, q.sums);
  else
    add_points<L, kMasked>(lane, keys, turn, d_score, sees, q.sums);
}

/// Loads the data of the queries. The mean is summed in the same order as the products from which it is subtracted.
template <class L, bool kLaplace>
__device__ void load_queries(const AttentionBackward<typename L::T>& b, const Lane<L>& lane, std::int64_t unit,
                             std::int64_t first, typename L::T* means, Queries<L>& q) {
  using T = typename L::T;
  const AttentionForward<T>& p = b.forward;
  load_rows(PointView<const T>(p.out, p.queries, p.heads, p.value_width, unit), lane, first, p.queries, T(1),
            q.channels);
  load_rows(PointView<const T>(b.d_out, p.queries, p.heads, p.value_width, unit), lane, first, p.queries, T(1),
            q.d_out);
#pragma unroll
  for (int r = 0; r < L::kRows; ++r) {
    T sum = 0;
#pragma unroll
    for (int c = 0; c < L::kChannels; ++c) sum += q.channels[r][c] * q.d_out[r][c];
    q.mean[r] = group_sum<L>(sum);
    q.log2_sum[r] = 0;
    if (first + r >= p.queries) continue;
    const std::int64_t row = unit * p.queries + first + r;
    if (b.d_log_sum) q.mean[r] -= b.d_log_sum[row];
    q.log2_sum[r] = p.log2_sum[row] == -infinity<T>() ? infinity<T>() : p.log2_sum[row];
    if (means && lane.channel == 0 && lane.slice == 0) means[row] = q.mean[r];
  }
  load_rows(PointView<const T>(p.q, p.queries, p.heads, p.width, unit), lane, first, p.queries,
            query_factor<T, kLaplace>(p), q.channels);
}

/// The outputs of a block, or of one segment of the keys.
template <class T>
struct Result {
  T* d_q;
  T* totals;  // of the weights; null: the sums are over all keys, and divided by it
};

/// Adds the sums over a span of keys to those of the spans before.
///
/// The weights of a row add up to 1, except for the rounding of the log-sum-exp, which they share. The last span
/// divides by their sum, which removes that rounding.
template <class L>
__device__ void end_span(const AttentionForward<typename L::T>& p, const Lane<L>& lane, const OwnedQueries& owned,
                         int span, bool last, Queries<L>& q, const Result<typename L::T>& to) {
  using T = typename L::T;
  T factors[L::kRows];
#pragma unroll
  for (int r = 0; r < L::kRows; ++r) {
    q.earlier[r] += q.total[r];
    q.total[r] = 0;
    factors[r] = 1;
    if (!last) continue;
    const T total = row_sum<L>(q.earlier[r]);
    if (!to.totals) factors[r] = total == 0 ? T(0) : static_cast<T>(p.scale) / total;
#pragma unroll
    for (int c = 0; c < L::kChannels; ++c) q.sums[r][c] *= factors[r];
    if (to.totals && lane.channel == 0 && lane.slice == 0 && owned.first + r < p.queries)
      to.totals[owned.unit * p.queries + owned.first + r] = total;
  }
  store_rows(q.sums, lane, owned.first, p.queries, PointView<T>(to.d_q, p.queries, p.heads, p.width, owned.unit),
             span > 0, factors);
}

/// One block: a tile of the queries of one head (x), and one segment of the keys (y).
template <class L, bool kLaplace>
__global__ void __launch_bounds__(kMostWarps* kWarp)
    query_gradients(AttentionBackward<typename L::T> b, Spread spread, typename L::T* means, Result<typename L::T> to) {
  using T = typename L::T;
  const AttentionForward<T>& p = b.forward;
  const Lane<L> lane;
  const OwnedQueries owned(lane, spread);
  Queries<L> q;
  load_queries<L, kLaplace>(b, lane, owned.unit, owned.first, blockIdx.y == 0 ? means : nullptr, q);
  to.d_q += blockIdx.y * (p.batch * p.queries * p.heads * p.width);
  if (to.totals) to.totals += blockIdx.y * (p.batch * p.heads * p.queries);
  const auto factor = static_cast<T>(-p.scale * kLog2E);
  const int spans = for_key_turns<L>(
      p, spread, owned, q.visible,
      [&](const T* keys, const T* values, int turn, auto masked) {
        query_step<L, kLaplace, decltype(masked)::value>(lane, keys, values, turn, factor, q);
      },
      [&](int span) { end_span(p, lane, owned, span, false, q, to); });
  end_span(p, lane, owned, spans, true, q, to);
}

/// Adds up the segments, multiplies with the scale and divides by the sum of the weights.
template <class T>
void merge_segments(Cuda& cuda, const AttentionForward<T>& p, std::int64_t segments, const Result<T>& parts, T* d_q) {
  const std::int64_t rows = p.batch * p.heads * p.queries;
  for_each(cuda, "merge_attention_d_q", rows * p.width, [p, segments, parts, rows, d_q] __device__(std::int64_t i) {
    const std::int64_t row = row_of(p, i, p.width);
    T sum = 0, total = 0;
    for (std::int64_t s = 0; s < segments; ++s) {
      sum += parts.d_q[s * rows * p.width + i];
      total += parts.totals[s * rows + row];
    }
    d_q[i] = total == 0 ? sum * T(0) : sum * static_cast<T>(p.scale) / total;
  });
}

}  // namespace

template <class T>
void attention_query_gradients(Cuda& cuda, const AttentionBackward<T>& b, T* means) {
  const AttentionForward<T>& p = b.forward;
  with_gradient_tiling(p, [&]<class L, bool kLaplace>() {
    const std::int64_t units = p.batch * p.heads, rows = units * p.queries;
    const Spread by = spread<L>(cuda, units, p.queries, p.keys);
    const std::int64_t parts_rows = by.segments > 1 ? by.segments * rows : 0;
    const Buffer parts(static_cast<std::size_t>(parts_rows * (p.width + 1)) * sizeof(T), Device::cuda);
    auto* memory = reinterpret_cast<T*>(parts.data());
    const Result<T> to = parts_rows > 0 ? Result<T>{memory, memory + parts_rows * p.width} : Result<T>{b.d_q, nullptr};
    launch(cuda, "attention_d_q", query_gradients<L, kLaplace>, {units * by.tiles, by.segments}, by.warps * kWarp,
           2 * L::kTileBytes + kMostWarps * sizeof(std::int64_t), b, by, means, to);
    if (parts_rows > 0) merge_segments(cuda, p, by.segments, to, b.d_q);
  });
}

template void attention_query_gradients(Cuda&, const AttentionBackward<float>&, float*);
template void attention_query_gradients(Cuda&, const AttentionBackward<double>&, double*);

}  // namespace npzoo
