#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "npzoo/models/applications/tables/observed_places.h"

namespace npzoo {

/// A box of the plane of inputs, in the units of ObservedPlaces.
struct CellBox {
  std::vector<double> low, high;  // of each input

  std::vector<double> middle() const;
  /// The squared distance from the middle to a corner.
  double square_of_radius() const;
  /// The squared distance of a point from the box; 0 inside.
  double square_from(std::span<const double> point) const;
  std::size_t longest_side() const;
};

/// A cell and the rows of the targets in it, in ascending order.
struct LocalCell {
  CellBox box;
  std::vector<std::int64_t> targets;
};

/// Limits of a cell. The ball around it holds at most `most` rows, where a place counts for at most `of_a_place` of its
/// rows: this bounds cells among places. At most `pool` places lie within `reach` radii: this bounds cells in holes.
struct CellLimits {
  std::size_t most, of_a_place, pool;
  double reach;
};

/// Cells of the plane of inputs, which follow from the observed places alone.
///
/// A box around all places is halved along its longest side until a cell is small enough. Around that box lie larger
/// ones, each of twice the size, which are halved in the same way for what no smaller box holds. The first box is up to
/// twice as large as need be, so that cells among the places become nearly as large as the limits allow. Boxes are made
/// only where targets lie.
class LocalCells {
 public:
  /// `places` must outlive the cells.
  LocalCells(const ObservedPlaces& places, const CellLimits& limits);

  /// The cells that hold these targets (m, Dx), each once, in the order of their first targets.
  std::vector<LocalCell> of(std::span<const double> targets) const;

 private:
  std::size_t doublings(std::span<const double> scaled) const;
  CellBox box(std::size_t doublings) const;
  bool small_enough(const CellBox& box) const;
  double cost() const;

  const ObservedPlaces& places_;
  CellLimits limits_;
  double half_ = 0.5;  // of the sides of the first box
};

}  // namespace npzoo
