#pragma once

// Column sums of f(row, column), where f is computed on the fly: first within blocks of rows, then over the blocks in
// double. The order depends on the extents alone. Included by kernel sources only.

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

/// Calls `f.add(row, column, f.read(row, column), sums)` for all rows. `add` adds to the sums of n columns. `partial`
/// is (count, blocks of rows, width), or null if nobody needs the sums.
template <class T, int n, int count, class F>
__global__ void __launch_bounds__(kTileThreads) sum_columns(std::int64_t rows, std::int64_t width, F f, T* partial) {
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
  if (place.lane > 0 || place.column >= width) return;
  for (int i = 0; i < count * n; ++i)
    partial[(std::int64_t{i / n} * gridDim.y + blockIdx.y) * width + place.column + i % n] = shared[i * kTileThreads];
}

template <class T, int count>
struct ColumnSums {
  T* at[count];  // (width) each
};

/// Sums the blocks' sums. Grid (tiles of a warp's columns, count). `partial` is (count, blocks, width).
template <class T, int count>
__global__ void __launch_bounds__(kFinishThreads)
    finish_column_sums(std::int64_t blocks, std::int64_t width, const T* partial, ColumnSums<T, count> sums) {
  constexpr int kWarps = kFinishThreads / kWarp;
  auto* shared = shared_memory<double>();  // (warps, lanes)
  const std::int64_t column = std::int64_t{blockIdx.x} * kWarp + lane_id();
  double sum = 0;
  if (column < width)
    for (std::int64_t i = warp_id(); i < blocks; i += kWarps)
      sum += static_cast<double>(partial[(blockIdx.y * blocks + i) * width + column]);
  shared[threadIdx.x] = sum;
  __syncthreads();
  if (warp_id() > 0 || column >= width) return;
  for (int warp = 1; warp < kWarps; ++warp) sum += shared[warp * kWarp + lane_id()];
  T* to = sums.at[0];
  for (int i = 1; i < count; ++i)
    if (static_cast<int>(blockIdx.y) == i) to = sums.at[i];
  to[column] = static_cast<T>(sum);
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
  const Grid grid = rows > 0 ? tile_grid<n>(cuda, rows, width) : Grid(0, 0);
  const bool wanted = sums.at[0] != nullptr;
  const Buffer buffer(static_cast<std::size_t>(wanted ? count * grid.y * width : 0) * sizeof(T), Device::cuda);
  T* partial = wanted ? reinterpret_cast<T*>(buffer.data()) : nullptr;
  launch(cuda, name, sum_columns<T, n, count, F>, grid, kTileThreads,
         wanted ? count * n * kTileThreads * sizeof(T) : std::size_t{0}, rows, width, f, partial);
  if (wanted) finish(cuda, name, grid.y, width, partial, sums);
}

}  // namespace

}  // namespace npzoo
