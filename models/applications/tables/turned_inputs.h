#pragma once

#include <array>
#include <optional>
#include <span>
#include <vector>

namespace npzoo {

/// A turn and stretch of two inputs, after which a field varies alike in all directions.
struct InputTurn {
  double ratio = 1;  // how many times further correlation reaches along `angle` than across it, in the table's units
  double angle = 0;  // degrees from the first input towards the second, above −90, at most 90
  double gain = 0;   // nats that the turn adds to the log density

  std::array<double, 2> origin{}, extent{1, 1};  // of each input
  std::array<double, 4> matrix{1, 0, 0, 1};      // rows; of (x − origin) / extent

  /// Turns points (n, 2). Numbers far outside end at ±1e100.
  std::vector<double> apply(std::span<const double> x) const;
};

/// Fits turn and stretch to observed points x (n, 2) and y (n) by their likelihood (see FieldLikelihood), as a
/// symmetric matrix, followed by the turn that gives both columns equal extents. None if the gain over a field that is
/// the same in all directions, in the units of the table or with columns scaled to equal extents, is below 10 nats, or
/// if there are too few places. Deterministic; does not depend on the order of the points.
std::optional<InputTurn> find_turn(std::span<const double> x, std::span<const double> y);

}  // namespace npzoo
