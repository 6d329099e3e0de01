#pragma once

// The loop of a block of queries over its segment of the keys. Included by kernel sources only.

#include "npzoo/ops/masked_attention/spread_cuda.h"

namespace npzoo {

namespace {

/// The queries of a lane group: blocks are tiles of queries, head by head.
struct OwnedQueries {
  template <class L>
  __device__ OwnedQueries(const Lane<L>& lane, const Spread& spread)
      : unit(blockIdx.x / spread.tiles),
        first((blockIdx.x % spread.tiles * spread.warps + warp_id()) * L::kWarpRows + lane.owner * L::kRows) {}

  std::int64_t unit;   // batch element and head
  std::int64_t first;  // the first of L::kRows
};

/// Copies keys and values to shared memory, tile by tile, and calls step(keys, values, turn, masked) for each turn that
/// a row of the warp sees: with std::false_type if all rows see all its keys, else with std::true_type. `visible` is
/// then the number of keys of the tile that each row sees. Calls end_span(number of the span) between spans; the caller
/// ends the last span, whose number is returned.
template <class L, class Step, class EndSpan>
__device__ __forceinline__ int for_key_turns(const AttentionForward<typename L::T>& p, const Spread& spread,
                                             const OwnedQueries& owned, int (&visible)[L::kRows], const Step& step,
                                             const EndSpan& end_span) {
  using T = typename L::T;
  T* keys = shared_memory<T>();
  T* values = keys + L::kTile * L::kStride;
  auto* block_most = reinterpret_cast<std::int64_t*>(values + L::kTile * L::kStride);
  const PointView<const T> k(p.k, p.keys, p.heads, p.width, owned.unit),
      v(p.v, p.keys, p.heads, p.value_width, owned.unit);
  const VisibleKeys<L> keys_seen(p, owned.unit, owned.first);
  const std::int64_t begin = blockIdx.y * spread.length,
                     end = min(begin + spread.length, most_of_block(keys_seen.most, block_most));
  static_assert(kSpanPoints % L::kTile == 0);
  int span = 0;
  for (std::int64_t tile = begin; tile < end; tile += L::kTile) {
    if (tile > begin && (tile - begin) % kSpanPoints == 0) end_span(span++);
    const int count = static_cast<int>(min(std::int64_t{L::kTile}, end - tile));
    if (tile > begin) __syncthreads();
    stage<L>(k, tile, count, T(1), keys);
    stage<L>(v, tile, count, T(1), values);
    __syncthreads();
    const int seen_by_any = visible_here(keys_seen.most, tile, count),
              seen_by_all = visible_here(keys_seen.least, tile, count);
#pragma unroll
    for (int r = 0; r < L::kRows; ++r) visible[r] = visible_here(keys_seen.visible[r], tile, count);
    for (int turn = 0; turn * L::kTurn < seen_by_any; ++turn) {
      if ((turn + 1) * L::kTurn <= seen_by_all)
        step(keys, values, turn, std::false_type());
      else
        step(keys, values, turn, std::true_type());
    }
  }
  return span;
}

}  // namespace

}  // namespace npzoo
