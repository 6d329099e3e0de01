#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "npzoo/models/applications/tables/columns/column_scale.h"

namespace npzoo {

/// How several predictions of a cell become one: weighted by their shares and the inverse of their deviations; the
/// deviation is then multiplied by `width`.
struct MethodShares {
  std::vector<double> shares;
  double width = 1;

  /// Equal shares.
  static MethodShares equal(std::size_t methods);
  /// A prediction of a cell for each share.
  CellGuess mix(std::span<const CellGuess> guesses) const;
};

/// Finds the shares and the width of the least CRPS, pulled towards equal shares and 1. `guesses` (cells, methods) of
/// cells with these values. Equal shares if there are fewer than ten cells.
MethodShares fit_shares(std::span<const CellGuess> guesses, std::span<const double> values, std::size_t methods);

/// The CRPS of a Gaussian, in closed form.
double gaussian_crps(const CellGuess& guess, double value);

}  // namespace npzoo
