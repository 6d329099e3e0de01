#pragma once

// Points of the CPU kernel of set convolution, sorted by tile. Included by kernel sources only.

#include <algorithm>

#include "npzoo/engine/cpu/simd.h"
#include "npzoo/engine/memory.h"
#include "npzoo/ops/set_convolution/kernels.h"

namespace npzoo {

namespace {

/// The points of each set, sorted by tile and by index within a tile. A tile of nodes then visits the points around it
/// only, in an order that does not depend on the number of threads.
class SortedPoints {
 public:
  template <class Cpu, class T>
  SortedPoints(Cpu& cpu, const PointsAndGrid<T>& p, const GridTiles& tiles)
      : tiles_(tiles), points_(p.points), lengths_(p.lengths), sorted_(tiles.count() > 2) {
    if (!sorted_) return;  // a single tile of nodes visits all points
    starts_of_sets_ = take(p.batch + 1);
    starts_of_sets_[0] = 0;
    for (std::int64_t b = 0; b < p.batch; ++b) starts_of_sets_[b + 1] = starts_of_sets_[b] + length(b);
    starts_ = take(p.batch * (tiles.count() + 1));
    order_ = take(starts_of_sets_[p.batch]);
    std::int64_t* tile_of = take(starts_of_sets_[p.batch]);
    cpu.parallel_for(starts_of_sets_[p.batch], kGrain,
                     [&](std::int64_t begin, std::int64_t end) { find_tiles(p, begin, end, tile_of); });
    cpu.parallel_for(p.batch, simd::max(kGrain / simd::max(p.points, 1), 1), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t b = begin; b < end; ++b) sort(b, tile_of + starts_of_sets_[b]);
    });
  }

  /// Calls f(n) for the points of set b, numbered over all sets, that may reach a node of a tile.
  template <class F>
  void for_near(std::int64_t b, const NodeRange& rows, const NodeRange& columns, double reach, const F& f) const {
    const std::int64_t first = b * points_;
    if (!sorted_) {
      for (std::int64_t n = first; n < first + length(b); ++n) f(n);
      return;
    }
    const std::int64_t *starts = starts_ + b * (tiles_.count() + 1), *order = order_ + starts_of_sets_[b];
    const auto visit = [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = starts[begin]; i < starts[end]; ++i) f(first + order[i]);
    };
    const NodeRange high = tiles_.rows_near(rows, reach), wide = tiles_.columns_near(columns, reach);
    for (std::int64_t i = high.begin; i < high.end; ++i)
      visit(i * tiles_.wide() + wide.begin, i * tiles_.wide() + wide.end);
    visit(tiles_.count() - 1, tiles_.count());
  }

 private:
  static constexpr std::int64_t kGrain = 1 << 12;  // points that are worth handing to another thread

  std::int64_t length(std::int64_t b) const { return lengths_ ? lengths_[b] : points_; }

  std::int64_t* take(std::int64_t count) {
    Buffer& memory = memory_[taken_++];
    memory = Buffer(static_cast<std::size_t>(count) * sizeof(std::int64_t));
    return reinterpret_cast<std::int64_t*>(memory.data());
  }

  /// Finds the tiles of the points [begin, end) of all sets, without padding.
  template <class T>
  void find_tiles(const PointsAndGrid<T>& p, std::int64_t begin, std::int64_t end, std::int64_t* tile_of) const {
    std::int64_t b = std::upper_bound(starts_of_sets_, starts_of_sets_ + p.batch + 1, begin) - starts_of_sets_ - 1;
    for (std::int64_t i = begin; i < end; ++i) {
      while (i >= starts_of_sets_[b + 1]) ++b;
      tile_of[i] = tiles_.of(p.x + (b * points_ + i - starts_of_sets_[b]) * p.grid.dims());
    }
  }

  /// Sorts set b by counting.
  void sort(std::int64_t b, const std::int64_t* tile_of) {
    std::int64_t *starts = starts_ + b * (tiles_.count() + 1), *order = order_ + starts_of_sets_[b];
    std::fill_n(starts, tiles_.count() + 1, 0);
    for (std::int64_t i = 0; i < length(b); ++i) ++starts[tile_of[i] + 1];
    for (std::int64_t tile = 0; tile < tiles_.count(); ++tile) starts[tile + 1] += starts[tile];
    for (std::int64_t i = 0; i < length(b); ++i) order[starts[tile_of[i]]++] = i;
    for (std::int64_t tile = tiles_.count(); tile > 0; --tile) starts[tile] = starts[tile - 1];
    starts[0] = 0;
  }

  GridTiles tiles_;
  std::int64_t points_;
  const std::int64_t* lengths_;
  bool sorted_;
  Buffer memory_[4];
  int taken_ = 0;
  std::int64_t* starts_of_sets_ = nullptr;  // (batch + 1): in `order_`
  std::int64_t* starts_ = nullptr;          // (batch, tiles + 1): in the set's part of `order_`
  std::int64_t* order_ = nullptr;           // of the points of each set
};

}  // namespace

}  // namespace npzoo
