#pragma once

// Points of the CUDA kernel of set convolution, sorted by tile. Included by kernel sources only.

#include "npzoo/engine/cuda/launch.h"
#include "npzoo/engine/memory.h"
#include "npzoo/ops/set_convolution/kernels.h"

namespace npzoo {

namespace {

constexpr std::int64_t kTileRows = 8, kTileColumns = 32;
constexpr std::int64_t kFewPoints = 512;  // of a set; sorting these takes longer than visiting all of them
constexpr std::int64_t kMostChunks = 64, kChunkPoints = 256;
constexpr int kSortWarps = 4, kScanThreads = 256;

/// The points of each set, sorted by tile and by index within a tile.
struct SortedPoints {
  GridTiles tiles;
  std::int64_t chunks = 0;        // of the points of a set, sorted by a warp each; 0: the points are not sorted
  std::int64_t* ends = nullptr;   // (batch, tiles, chunks): the end in `order` of a chunk's points in a tile
  std::int64_t* order = nullptr;  // (batch, points)

  /// Calls f(n) for the points of set b, numbered over all sets, that may reach a node.
  template <class T, class F>
  __device__ void for_near(const PointsAndGrid<T>& p, std::int64_t b, std::int64_t row, std::int64_t column,
                           double reach, const F& f) const {
    const std::int64_t first = b * p.points;
    if (chunks == 0) {
      const std::int64_t end = first + (p.lengths ? p.lengths[b] : p.points);
      for (std::int64_t n = first; n < end; ++n) f(n);
      return;
    }
    const std::int64_t* ends_of_set = ends + b * tiles.count() * chunks;
    const auto visit = [&](std::int64_t begin, std::int64_t end) {
      const std::int64_t last = end > 0 ? ends_of_set[end * chunks - 1] : 0;
      for (std::int64_t i = begin > 0 ? ends_of_set[begin * chunks - 1] : 0; i < last; ++i) f(first + order[first + i]);
    };
    const NodeRange high = tiles.rows_near({row, row + 1}, reach),
                    wide = tiles.columns_near({column, column + 1}, reach);
    for (std::int64_t i = high.begin; i < high.end; ++i)
      visit(i * tiles.wide() + wide.begin, i * tiles.wide() + wide.end);
    visit(tiles.count() - 1, tiles.count());
  }
};

/// A warp takes the points of a chunk in their order. First it counts those in each tile; after `scan_chunks` it brings
/// them, `kPlace`, to their places.
template <class T, bool kPlace>
__global__ void __launch_bounds__(kSortWarps* kWarp) sort_chunk(PointsAndGrid<T> p, SortedPoints to) {
  const std::int64_t unit = std::int64_t{blockIdx.x} * kSortWarps + warp_id();
  if (unit >= p.batch * to.chunks) return;
  const std::int64_t b = unit / to.chunks, chunk = unit % to.chunks, length = divide_up(p.points, to.chunks);
  const std::int64_t points = p.lengths ? p.lengths[b] : p.points, end = min((chunk + 1) * length, points);
  std::int64_t* of_chunk = to.ends + b * to.tiles.count() * to.chunks + chunk;
  for (std::int64_t first = chunk * length; first < end; first += kWarp) {
    const std::int64_t n = first + lane_id();
    const std::int64_t tile = n < end ? to.tiles.of(p.x + (b * p.points + n) * p.grid.dims()) : -1;
    int rank = 0, sharers = 0;  // lanes of the same tile: those in front, and all
    for (int lane = 0; lane < kWarp; ++lane) {
      const bool same = __shfl_sync(kAllLanes, tile, lane) == tile;
      sharers += same;
      rank += same && lane < lane_id();
    }
    const std::int64_t before = tile >= 0 ? of_chunk[tile * to.chunks] : 0;
    __syncwarp();
    if (tile >= 0) {
      if (kPlace) to.order[b * p.points + before + rank] = n;
      if (rank == 0) of_chunk[tile * to.chunks] = before + sharers;
    }
    __syncwarp();
  }
}

/// Turns counts into the numbers of points before. One block for each set.
__global__ void __launch_bounds__(kScanThreads) scan_chunks(std::int64_t count, std::int64_t* all) {
  auto* sums = shared_memory<std::int64_t>();  // (threads)
  std::int64_t* counts = all + blockIdx.x * count;
  const std::int64_t length = divide_up(count, kScanThreads), begin = min(threadIdx.x * length, count),
                     end = min(begin + length, count);
  std::int64_t sum = 0;
  for (std::int64_t i = begin; i < end; ++i) sum += counts[i];
  sums[threadIdx.x] = sum;
  __syncthreads();
  sum = 0;
  for (unsigned thread = 0; thread < threadIdx.x; ++thread) sum += sums[thread];
  for (std::int64_t i = begin; i < end; ++i) {
    const std::int64_t own = counts[i];
    counts[i] = sum;
    sum += own;
  }
}

void clear_counts(Cuda& cuda, std::int64_t count, std::int64_t* counts) {
  for_each(cuda, "clear_tiles", count, [counts] __device__(std::int64_t i) { counts[i] = 0; });
}

/// Sorts points, and owns the memory of the sorted ones.
class PointSorter {
 public:
  template <class T>
  PointSorter(Cuda& cuda, const PointsAndGrid<T>& p) : sorted_{{p.grid, kTileRows, kTileColumns}} {
    if (p.points <= kFewPoints || sorted_.tiles.count() <= 2) return;
    const std::int64_t chunks = min(kMostChunks, divide_up(p.points, kChunkPoints)),
                       count = sorted_.tiles.count() * chunks;
    ends_ = Buffer(static_cast<std::size_t>(p.batch * count) * sizeof(std::int64_t), Device::cuda);
    order_ = Buffer(static_cast<std::size_t>(p.batch * p.points) * sizeof(std::int64_t), Device::cuda);
    auto* ends = reinterpret_cast<std::int64_t*>(ends_.data());
    sorted_.chunks = chunks;
    sorted_.ends = ends;
    sorted_.order = reinterpret_cast<std::int64_t*>(order_.data());
    const std::int64_t blocks = divide_up(p.batch * chunks, kSortWarps);
    clear_counts(cuda, p.batch * count, ends);
    launch(cuda, "count_points", sort_chunk<T, false>, blocks, kSortWarps * kWarp, 0, p, sorted_);
    launch(cuda, "scan_tiles", scan_chunks, p.batch, kScanThreads, kScanThreads * sizeof(std::int64_t), count, ends);
    launch(cuda, "sort_points", sort_chunk<T, true>, blocks, kSortWarps * kWarp, 0, p, sorted_);
  }

  const SortedPoints& sorted() const { return sorted_; }

 private:
  SortedPoints sorted_;
  Buffer ends_, order_;
};

}  // namespace

}  // namespace npzoo
