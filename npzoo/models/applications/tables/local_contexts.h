#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace npzoo {

/// Near targets and the observed points that they share: a small task out of a large one. Rows are in ascending order.
struct LocalTile {
  std::vector<std::int64_t> targets;
  std::vector<std::int64_t> context;
};

/// Splits a series with too large a context for a model into tiles.
///
/// A tile chooses among its pool, the 4 K places nearest to the middle of its targets, in 1D the 2 K on either side.
/// Half of its K rows are those nearest to any of its targets; the others are shared out among the directions seen from
/// the middle (two in 1D, 16 in 2D, orthants beyond), the nearest of each, so that the far side of a hole is seen as
/// well. Of the rows at one place a tile takes at most K / 16, unless its pool has no others. Inputs may have different
/// units: distances are those after every column was divided by its extent.
///
/// A few places that are much further away than the rest of a pool are left out, and do not count for the extents:
/// beside them all others would fall on one spot.
///
/// Memory: about 30 + 8 Dx bytes a row of context.
class LocalContexts {
 public:
  static constexpr std::int64_t kTileTargets = 32;  // at most

  /// x (n, Dx), row-major and finite. `neighbours` K ≥ 1 bounds the rows of a tile's context. Throws Error for 2³² rows
  /// or more.
  LocalContexts(std::span<const double> x, std::int64_t dim_x, std::int64_t neighbours);
  LocalContexts(LocalContexts&&) noexcept;
  ~LocalContexts();

  std::int64_t rows() const;

  /// All rows of `targets` (m, Dx), each once, so that each kTileTargets consecutive ones from the first on are near
  /// to each other.
  std::vector<std::int64_t> order(std::span<const double> targets) const;

  /// The tiles of some rows of `targets`, which are near to each other. There are several where they are farther apart
  /// than the pool of a tile reaches. May be called by several threads.
  std::vector<LocalTile> tiles(std::span<const double> targets, std::span<const std::int64_t> rows) const;

 private:
  struct Places;
  std::unique_ptr<const Places> places_;
};

}  // namespace npzoo
