#include "npzoo/engine/memory.h"
#include "npzoo/ops/masked_attention/gradients_cuda.h"

namespace npzoo {

namespace {

/// A lane group's keys and their values.
template <class L>
struct Keys {
  using T = typename L::T;

  T channels[L::kRows][L::kChannels];
  T values[L::kRows][L::kChannels];
  T d_k[L::kRows][L::kChannels] = {};  // over the queries of a span
  T d_v[L::kRows][L::kChannels] = {};
};

/// Queries of a tile in shared memory.
template <class T>
struct QueryTile {
  T *queries, *d_out;
  T *log2_sum, *mean;
  int* visible;  // keys of the block
};

/// The outputs of a block, or of one segment of the queries.
template <class T>
struct Result {
  T *d_k, *d_v;
};

template <class L, bool kLaplace, bool kMasked>
__device__ __forceinline__ void key_step(const Lane<L>& lane, const QueryTile<typename L::T>& tile, int turn, int first,
                                         typename L::T distance_factor, Keys<L>& k) {
  using T = typename L::T;
  T weight[L::kOwn][L::kRows], d_score[L::kOwn][L::kRows];
  scores<L, kLaplace>(lane, tile.queries, turn, k.channels, weight);
  scores<L, false>(lane, tile.d_out, turn, k.values, d_score);
#pragma unroll
  for (int u = 0; u < L::kOwn; ++u) {
    const int query = tile_point(lane, turn, own_point(lane, u));
    const T log2_sum = tile.log2_sum[query], mean = tile.mean[query];
    const int visible = kMasked ? tile.visible[query] : 0;
#pragma unroll
    for (int r = 0; r < L::kRows; ++r) {
      weight[u][r] = exponential2((kLaplace ? weight[u][r] * distance_factor : weight[u][r]) - log2_sum);
      d_score[u][r] = weight[u][r] * (d_score[u][r] - mean);
      if (kMasked && first + r >= visible) weight[u][r] = d_score[u][r] = 0;
    }
  }
  const auto sees = [&](int i, int r) { return first + r < tile.visible[tile_point(lane, turn, i)]; };
  add_points<L, kMasked>(lane, tile.d_out, turn, weight, sees, k.d_v);
  if constexpr (kLaplace)
    add_signs<L, kMasked>(lane, tile.queries, turn, d_score, sees, k.channels, k.d_k);
  else
    add_points<L, kMasked>(lane, tile.queries, turn, d_score, sees, k.d_k);
}

/// Processes a tile of queries for one warp, whose keys are [first, last) of the block's. Skips queries that see none
/// of the warp's keys.
template <class L, bool kLaplace>
__device__ void take_queries(const Lane<L>& lane, const QueryTile<typename L::T>& tile, int count, int first, int last,
                             typename L::T distance_factor, Keys<L>& k) {
  for (int turn = 0; turn * L::kTurn < count; ++turn) {
    bool all = true, any = false;
#pragma unroll
    for (int u = 0; u < L::kOwn; ++u) {
      const int visible = tile.visible[tile_point(lane, turn, own_point(lane, u))];
      all = all && visible >= last;
      any = any || visible > first;
    }
    if (!__any_sync(kAllLanes, any)) continue;
    const int own_first = first + lane.owner * L::kRows;
    if (__all_sync(kAllLanes, all))
      key_step<L, kLaplace, false>(lane, tile, turn, own_first, distance_factor, k);
    else
      key_step<L, kLaplace, true>(lane, tile, turn, own_first, distance_factor, k);
  }
}

/// Copies a tile of queries to shared memory if one of them sees a key from `first_key` on. Returns whether it did. Two
/// arrays take the counts of visible keys in turn, since other warps may still read those of the tile before.
template <class L, bool kLaplace>
__device__ bool stage_queries(const AttentionBackward<typename L::T>& b, const typename L::T* means, std::int64_t unit,
                              std::int64_t first, int count, std::int64_t first_key, int keys,
                              const QueryTile<typename L::T>& tile) {
  using T = typename L::T;
  const AttentionForward<T>& p = b.forward;
  for (int i = static_cast<int>(threadIdx.x); i < L::kTile; i += static_cast<int>(blockDim.x))
    tile.visible[i] = i < count ? visible_here(p.mask.visible(unit / p.heads, first + i, p.keys), first_key, keys) : 0;
  __syncthreads();
  bool any = false;
  for (int i = lane_id(); i < L::kTile; i += kWarp) any = any || tile.visible[i] > 0;
  if (!__any_sync(kAllLanes, any)) return false;
  for (int i = static_cast<int>(threadIdx.x); i < count; i += static_cast<int>(blockDim.x)) {
    const std::int64_t row = unit * p.queries + first + i;
    tile.log2_sum[i] = p.log2_sum[row] == -infinity<T>() ? infinity<T>() : p.log2_sum[row];
    tile.mean[i] = means[row];
  }
  stage<L>(PointView<const T>(p.q, p.queries, p.heads, p.width, unit), first, count, query_factor<T, kLaplace>(p),
           tile.queries);
  stage<L>(PointView<const T>(b.d_out, p.queries, p.heads, p.value_width, unit), first, count, T(1), tile.d_out);
  __syncthreads();
  return true;
}

template <class L>
constexpr std::size_t kSharedBytes = 2 * L::kTileBytes + L::kTile*(2 * sizeof(typename L::T) + 2 * sizeof(int));

/// One block: a tile of the keys of one head (x), and one segment of the queries (y).
template <class L, bool kLaplace>
__global__ void __launch_bounds__(kMostWarps* kWarp)
    key_gradients(AttentionBackward<typename L::T> b, Spread spread, const typename L::T* means,
                  Result<typename L::T> to) {
  using T = typename L::T;
  const AttentionForward<T>& p = b.forward;
  T* memory = shared_memory<T>();
  QueryTile<T> tile{memory, memory + L::kTile * L::kStride, memory + 2 * L::kTile * L::kStride,
                    memory + 2 * L::kTile * L::kStride + L::kTile, nullptr};
  int* visible = reinterpret_cast<int*>(tile.mean + L::kTile);
  const Lane<L> lane;
  const std::int64_t unit = blockIdx.x / spread.tiles;
  const std::int64_t block_first = blockIdx.x % spread.tiles * spread.warps * L::kWarpRows;
  const int warp_first = warp_id() * L::kWarpRows;
  const std::int64_t first = block_first + warp_first + lane.owner * L::kRows;
  const int keys = visible_here(p.keys, block_first, spread.warps * L::kWarpRows);

  Keys<L> k;
  load_rows(PointView<const T>(p.k, p.keys, p.heads, p.width, unit), lane, first, p.keys, T(1), k.channels);
  load_rows(PointView<const T>(p.v, p.keys, p.heads, p.value_width, unit), lane, first, p.keys, T(1), k.values);
  const auto distance_factor = static_cast<T>(-p.scale * kLog2E);
  const std::int64_t begin = blockIdx.y * spread.length, end = min(begin + spread.length, p.queries);
  const std::int64_t points = p.batch * p.keys * p.heads;
  const PointView<T> d_k(to.d_k + blockIdx.y * (points * p.width), p.keys, p.heads, p.width, unit),
      d_v(to.d_v + blockIdx.y * (points * p.value_width), p.keys, p.heads, p.value_width, unit);
  const auto end_span = [&](bool adds, T scale) {
    store_rows(k.d_k, lane, first, p.keys, d_k, adds, scale);
    store_rows(k.d_v, lane, first, p.keys, d_v, adds, T(1));
  };
  static_assert(kSpanPoints % L::kTile == 0);
  for (std::int64_t at = begin; at < end; at += L::kTile) {
    if (at > begin && (at - begin) % kSpanPoints == 0) end_span(at - begin > kSpanPoints, T(1));
    const int count = static_cast<int>(min(std::int64_t{L::kTile}, end - at));
    tile.visible = visible + (at - begin) / L::kTile % 2 * L::kTile;
    if (stage_queries<L, kLaplace>(b, means, unit, at, count, block_first, keys, tile))
      take_queries<L, kLaplace>(lane, tile, count, warp_first, min(warp_first + L::kWarpRows, keys), distance_factor,
                                k);
  }
  // Queries in the tiles have been multiplied with scale · log₂e already.
  end_span(end - begin > kSpanPoints, kLaplace ? static_cast<T>(p.scale) : static_cast<T>(kLn2));
}

}  // namespace

template <class T>
void attention_key_gradients(Cuda& cuda, const AttentionBackward<T>& b, const T* means) {
  const AttentionForward<T>& p = b.forward;
  with_gradient_tiling(p, [&]<class L, bool kLaplace>() {
    const std::int64_t units = p.batch * p.heads, points = units * p.keys;
    const Spread by = spread<L>(cuda, units, p.keys, p.queries);
    const std::int64_t part = by.segments > 1 ? by.segments * points : 0;
    const Buffer parts(static_cast<std::size_t>(part * (p.width + p.value_width)) * sizeof(T), Device::cuda);
    Result<T> to{b.d_k, b.d_v};
    if (by.segments > 1) to.d_k = reinterpret_cast<T*>(parts.data()), to.d_v = to.d_k + part * p.width;
    launch(cuda, "attention_d_kv", key_gradients<L, kLaplace>, {units * by.tiles, by.segments}, by.warps * kWarp,
           kSharedBytes<L>, b, by, means, to);
    if (by.segments == 1) return;
    sum_segments(cuda, by.segments, points * p.width, to.d_k, b.d_k);
    sum_segments(cuda, by.segments, points * p.value_width, to.d_v, b.d_v);
  });
}

template void attention_key_gradients(Cuda&, const AttentionBackward<float>&, const float*);
template void attention_key_gradients(Cuda&, const AttentionBackward<double>&, const double*);

}  // namespace npzoo
