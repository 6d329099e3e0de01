#pragma once

// Reductions over the middle of (outer, middle, inner). Included by kernel sources only.

#include "npzoo/engine/cuda/launch.h"

namespace npzoo {

namespace {

constexpr int kTileThreads = 256;

__host__ __device__ int tile_columns(std::int64_t inner) { return inner < kWarp ? static_cast<int>(inner) : kWarp; }

/// The part of a block: a tile of columns of one `outer`. Neighbouring threads have neighbouring columns; a thread
/// takes the rows `lane`, lane + lanes, lane + 2·lanes, …. grid.x is `tile_blocks`.
struct ColumnTile {
  int columns, lanes, lane;
  std::int64_t outer, column;
  bool inside;  // false for threads that are left over

  __device__ explicit ColumnTile(std::int64_t inner)
      : columns(tile_columns(inner)), lanes(kTileThreads / columns), lane(static_cast<int>(threadIdx.x) / columns) {
    const std::int64_t tiles = divide_up(inner, columns);
    outer = blockIdx.x / tiles;
    column = blockIdx.x % tiles * columns + static_cast<int>(threadIdx.x) % columns;
    inside = lane < lanes && column < inner;
  }

  /// `op` over the lanes of each column, the same bits in each of them.
  template <class T, class F>
  __device__ T reduce(T x, const F& op) const {
    auto* values = shared_memory<T>();
    const int self = static_cast<int>(threadIdx.x);
    __syncthreads();
    values[self] = x;
    __syncthreads();
    for (int count = lanes; count > 1;) {
      const int half = (count + 1) / 2;
      if (lane + half < count) values[self] = op(values[self], values[self + half * columns]);
      count = half;
      __syncthreads();
    }
    return values[self % columns];
  }
};

inline std::int64_t tile_blocks(std::int64_t outer, std::int64_t inner) {
  return outer * divide_up(inner, tile_columns(inner));
}

constexpr std::size_t kTileShared = kTileThreads * sizeof(double);

}  // namespace

}  // namespace npzoo
