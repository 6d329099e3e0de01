#pragma once

// Column sums of f(row, column), where f is computed on the fly: first within blocks of rows, then over the blocks in
// double. The order depends on the extents alone. Included by kernel sources only.

#include <algorithm>

#include "npzoo/engine/cuda/last_block.h"
#include "npzoo/engine/cuda/launch.h"
#include "npzoo/engine/cuda/pack.h"
#include "npzoo/engine/memory.h"

namespace npzoo {

namespace {

constexpr int kTileThreads = 256, kFinishThreads = 1024;

/// Returns how many packs of columns neighbouring threads of a tile take. The other threads take other rows.
__host__ __device__ int tile_columns(std::int64_t packs) { return packs < kWarp ? static_cast<int>(packs) : kWarp; }

/// The position of a thread of a tile: grid (tiles of columns, blocks of rows).
template <int n>
struct TilePlace {
  int columns, lanes, lane;
  std::int64_t column;       // of its first element
  std::int64_t first, last;  // its rows, `lanes` apart; none for a surplus thread

  __device__ TilePlace(std::int64_t rows, std::int64_t width) {
    columns = tile_columns(width / n);
    lanes = kTileThreads / columns;
    lane = static_cast<int>(threadIdx.x) / columns;
    column = (std::int64_t{blockIdx.x} * columns + static_cast<int>(threadIdx.x) % columns) * n;
    const std::int64_t depth = divide_up(rows, gridDim.y), begin = blockIdx.y * depth;
    first = begin + lane;
    last = lane < lanes && column < width ? min(rows, begin + depth) : begin;
  }
};

/// Returns `blocks`, or more: so many that each of a block's `lanes` adds few rows in T. Sums of blocks are added in
/// double.
inline std::int64_t enough_blocks(std::int64_t blocks, std::int64_t rows, std::int64_t lanes) {
  constexpr std::int64_t kMostRows = 32, kMostBlocks = 65535;
  return max(blocks, min(divide_up(rows, kMostRows * lanes), kMostBlocks));
}

/// Returns a grid for rows of whole packs. There must be rows and columns.
template <int n>
Grid tile_grid(const Cuda& cuda, std::int64_t rows, std::int64_t width) {
  constexpr int kRowsPerThread = 4, kBlocksPerMultiprocessor = 4;
  const int columns = tile_columns(width / n), lanes = kTileThreads / columns;
  const std::int64_t tiles = divide_up(width / n, columns), most = divide_up(rows, kRowsPerThread * lanes);
  const std::int64_t wanted = divide_up(std::int64_t{cuda.multiprocessors} * kBlocksPerMultiprocessor, tiles);
  return {tiles, enough_blocks(min(wanted, most), rows, lanes)};
}

template <class T, int count>
struct ColumnSums {
  T* at[count];  // (width) each
};

/// Sums the blocks' sums of columns [begin, end), whose number `which` gives. `partial` is (count, blocks, width).
template <class T, int count>
__device__ void finish_columns(std::int64_t blocks, std::int64_t width, std::int64_t begin, std::int64_t end,
                               const volatile T* partial, const ColumnSums<T, count>& sums, int which) {
  auto* shared = shared_memory<double>();  // (warps, lanes)
  const int warps = static_cast<int>(blockDim.x) / kWarp;
  T* to = sums.at[0];
  for (int i = 1; i < count; ++i)
    if (which == i) to = sums.at[i];
  for (std::int64_t first = begin; first < end; first += kWarp) {
    const std::int64_t column = first + lane_id();
    double sum = 0;
    if (column < end) {
#pragma unroll 8
      for (std::int64_t i = warp_id(); i < blocks; i += warps)
        sum += static_cast<double>(partial[(which * blocks + i) * width + column]);
    }
    __syncthreads();
    shared[threadIdx.x] = sum;
    __syncthreads();
    if (warp_id() > 0 || column >= end) continue;
    for (int warp = 1; warp < warps; ++warp) sum += shared[warp * kWarp + lane_id()];
    to[column] = static_cast<T>(sum);
  }
}

/// Calls `f.add(row, column, f.read(row, column), sums)` for all rows. `add` adds to the sums of n columns. `partial`
/// is (count, blocks of rows, width), or null if nobody needs the sums. The last block of a tile sums those of all.
template <class T, int n, int count, class F>
__global__ void __launch_bounds__(kTileThreads)
    sum_columns(std::int64_t rows, std::int64_t width, F f, T* partial, ColumnSums<T, count> all) {
  constexpr int kAtATime = 4;  // rows whose elements are on their way together
  using Loaded = decltype(f.read(0, 0));
  const TilePlace<n> place(rows, width);
  T sums[count][n] = {};
  std::int64_t row = place.first;
  for (; row + (kAtATime - 1) * place.lanes < place.last; row += kAtATime * place.lanes) {
    Loaded loaded[kAtATime];
    for (int i = 0; i < kAtATime; ++i) loaded[i] = f.read(row + i * place.lanes, place.column);
    for (int i = 0; i < kAtATime; ++i) f.add(row + i * place.lanes, place.column, loaded[i], sums);
  }
  for (; row < place.last; row += place.lanes) f.add(row, place.column, f.read(row, place.column), sums);
  if (!partial) return;
  T* shared = shared_memory<T>() + threadIdx.x;  // (count · n, threads)
  for (int i = 0; i < count * n; ++i) shared[i * kTileThreads] = sums[i / n][i % n];
  __syncthreads();
  for (int left = place.lanes; left > 1;) {
    const int half = (left + 1) / 2;
    if (place.lane + half < left)
      for (int i = 0; i < count * n; ++i) shared[i * kTileThreads] += shared[i * kTileThreads + half * place.columns];
    left = half;
    __syncthreads();
  }
  if (place.lane == 0 && place.column < width)
    for (int i = 0; i < count * n; ++i)
      partial[(std::int64_t{i / n} * gridDim.y + blockIdx.y) * width + place.column + i % n] = shared[i * kTileThreads];
  const int ticket = static_cast<int>(blockIdx.x % kTickets);
  const std::int64_t tiles = divide_up(gridDim.x - ticket, kTickets), columns = std::int64_t{place.columns} * n;
  if (!is_last_block(ticket, tiles * gridDim.y, shared_memory<int>())) return;
  for (std::int64_t begin = ticket * columns; begin < width; begin += kTickets * columns)
    for (int i = 0; i < count; ++i)
      finish_columns<T, count>(gridDim.y, width, begin, min(width, begin + columns), partial, all, i);
}

/// Grid (tiles of a warp's columns, count). `partial` is (count, blocks, width).
template <class T, int count>
__global__ void __launch_bounds__(kFinishThreads)
    finish_column_sums(std::int64_t blocks, std::int64_t width, const T* partial, ColumnSums<T, count> sums) {
  const std::int64_t begin = std::int64_t{blockIdx.x} * kWarp;
  finish_columns<T, count>(blocks, width, begin, min(width, begin + kWarp), partial, sums,
                           static_cast<int>(blockIdx.y));
}

/// Sums the blocks' sums. Without blocks the result is 0.
template <class T, int count>
void finish(Cuda& cuda, const char* name, std::int64_t blocks, std::int64_t width, const T* partial,
            const ColumnSums<T, count>& sums) {
  launch(cuda, name, finish_column_sums<T, count>, {divide_up(width, kWarp), count}, kFinishThreads,
         kFinishThreads * sizeof(double), blocks, width, partial, sums);
}

/// Visits every pack of n columns of every row. If `sums` are not null, sums over the rows.
template <class T, int n, int count, class F>
void visit_and_sum(Cuda& cuda, const char* name, std::int64_t rows, std::int64_t width, const F& f,
                   const ColumnSums<T, count>& sums) {
  if (width == 0) return;
  const bool wanted = sums.at[0] != nullptr;
  if (rows == 0) {
    if (wanted) finish<T, count>(cuda, name, 0, width, nullptr, sums);
    return;
  }
  const Grid grid = tile_grid<n>(cuda, rows, width);
  const Buffer buffer(static_cast<std::size_t>(wanted ? count * grid.y * width : 0) * sizeof(T), Device::cuda);
  T* partial = wanted ? reinterpret_cast<T*>(buffer.data()) : nullptr;
  constexpr std::size_t kShared = kTileThreads * std::max(count * n * sizeof(T), sizeof(double));
  launch(cuda, name, sum_columns<T, n, count, F>, grid, kTileThreads, wanted ? kShared : std::size_t{0}, rows, width, f,
         partial, sums);
}

}  // namespace

}  // namespace npzoo
