#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "npzoo/models/applications/tables/local_cells.h"
#include "npzoo/models/applications/tables/observed_places.h"

namespace npzoo {

/// Splits a series with too large a context for a model into cells, each with a small context of its own.
///
/// The cells follow from the observed points alone (see `local_cells`): the ball around a cell has at most K rows, and
/// at most 8 K places lie within 2.8 of its radii. A context follows from its cell. So what a target is predicted from
/// does not depend on the other targets.
///
/// A cell chooses among its pool, the 4 K places nearest to its middle, in 1D the 2 K on either side. Half of its K
/// rows are those nearest to the cell; the others are shared out among the directions seen from the middle (two in 1D,
/// 16 in 2D, orthants beyond), the nearest of each, so that the far side of a hole is in the context as well. Of the
/// rows at one place a cell takes at most K / 16, unless its pool has no others. A few places that are much further
/// away than the rest of a pool are left out: beside them all others would fall on one spot.
class LocalContexts {
 public:
  /// x (n, Dx), row-major and finite. `neighbours` K ≥ 1 bounds the rows of a context. Throws Error for 2³² rows or
  /// more.
  LocalContexts(std::span<const double> x, std::int64_t dim_x, std::int64_t neighbours);

  std::int64_t rows() const { return places_->rows(); }

  /// The cells that hold these targets (m, Dx); each target is in one of them.
  std::vector<LocalCell> cells(std::span<const double> targets) const { return cells_->of(targets); }

  /// The rows of a cell's context, in ascending order. May be called by several threads.
  std::vector<std::int64_t> context(const CellBox& cell) const;

 private:
  std::unique_ptr<const ObservedPlaces> places_;
  std::optional<LocalCells> cells_;
  std::int64_t neighbours_;
};

}  // namespace npzoo
