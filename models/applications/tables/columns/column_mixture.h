#pragma once

#include <array>
#include <vector>

#include "npzoo/models/applications/tables/columns/column_gaussian.h"

namespace npzoo {

/// A mixture of five Gaussians of the columns: rows of different kinds have different relations between columns.
struct ColumnMixture {
  static constexpr std::size_t kParts = 5;
  std::vector<ColumnGaussian> parts;
  std::array<double, kParts> weights{};
};

/// Fits a mixture by expectation-maximisation. Each part is shrunk towards `common`, a Gaussian of all rows.
ColumnMixture fit_column_mixture(const ColumnGaussian& common, const CellTable& table);
/// Predicts missing cells from the known cells of their row.
CellFigures predict_from_mixture(const ColumnMixture& mixture, const CellTable& table);

}  // namespace npzoo
