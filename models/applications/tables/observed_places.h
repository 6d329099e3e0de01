#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "npzoo/models/applications/neighbour_tree.h"

namespace npzoo {

/// The distinct places of observed rows, in lexicographic order, and a search for those near to a point.
///
/// Inputs may have different units: every column is scaled to [0, 1] over its range, a column of one value to 0. A few
/// numbers that are far from the others (see `far_inputs`) do not extend the range.
///
/// Memory: about 30 + 8 Dx bytes a row.
class ObservedPlaces {
 public:
  using Index = std::uint32_t;

  /// x (n, Dx), row-major and finite. Throws Error for 2³² rows or more.
  ObservedPlaces(std::span<const double> x, std::size_t width);
  ObservedPlaces(const ObservedPlaces&) = delete;
  ObservedPlaces& operator=(const ObservedPlaces&) = delete;

  std::size_t width() const { return width_; }
  std::size_t count() const { return begins_.size() - 1; }
  std::int64_t rows() const { return static_cast<std::int64_t>(rows_.size()); }
  /// The scaled coordinates of a place.
  std::span<const double> at(Index place) const { return std::span(points_).subspan(place * width_, width_); }
  /// The rows at a place, in ascending order.
  std::span<const Index> rows_of(Index place) const {
    return std::span(rows_).subspan(begins_[place], begins_[place + 1] - begins_[place]);
  }

  /// Scales a number of column `d`. Numbers far outside end at ±1e100, so that squared distances stay finite.
  double scaled(double x, std::size_t d) const;
  /// The length of column `d` after scaling: 1, or 0 if the column has one value.
  double extent(std::size_t d) const { return scales_[d].factor > 0 ? 1 : 0; }
  /// The least number of column `d`, and its range, before scaling; +∞ if a double cannot hold the range.
  double lowest(std::size_t d) const { return 2 * scales_[d].low; }
  double range(std::size_t d) const { return 2 / scales_[d].factor; }

  /// The `most` nearest places, nearest first, equally distant ones by their index. Of one input half of them on either
  /// side, so that the far end of a gap is among them.
  std::vector<NearPoint> around(std::span<const double> point, std::size_t most) const;
  /// True if more than `most` rows are nearer than `radius`, of which at most `of_a_place` count at one place. Cheap
  /// for small `most`, however many there are.
  bool more_within(std::span<const double> point, double radius, std::size_t most, std::size_t of_a_place) const;

 private:
  struct Scale {
    double low = 0, factor = 0;
  };
  void gather(std::span<const double> x);

  std::size_t width_;
  std::vector<Scale> scales_;
  std::vector<double> points_;         // (places, Dx), scaled
  std::vector<Index> rows_;            // those of the first place, those of the second, …
  std::vector<Index> begins_;          // of each place in `rows_`, and the end
  std::optional<NeighbourTree> tree_;  // of several inputs
};

}  // namespace npzoo
