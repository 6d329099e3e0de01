#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "npzoo/models/applications/tables/columns/column_gaussian.h"
#include "npzoo/models/applications/tables/columns/component_kernel.h"

namespace npzoo {

/// A Gaussian process of the D columns of rows in time: sums of K independent components of variance 1.
struct RowProcess {
  std::vector<double> mean;      // (D)
  std::vector<double> loadings;  // (D, K): what a component adds to each column
  std::vector<ComponentKernel> components;
};

/// Whether a table is small enough for a process: its memory grows with rows · columns² (about 250 MB at most), its
/// time with rows · columns³.
bool rows_can_be_followed(std::size_t rows, std::size_t columns);

/// Fits a process whose rows have the distribution `gaussian`, with a component for each column. Neither the cells of a
/// row nor those of successive rows correlate components. `times` ascend. `completed` is a first prediction of the
/// missing cells.
RowProcess fit_row_process(const ColumnGaussian& gaussian, const CellTable& table, std::span<const double> times,
                           const CellFigures& completed);

/// Predicts missing cells from all known cells of all rows, by a Kalman filter and smoother.
CellFigures predict_from_rows(const RowProcess& process, const CellTable& table, std::span<const double> times);

/// Principal components of variance 1 of rows, with a positive skewness: predictions may depend on the sign.
struct PrincipalComponents {
  std::vector<double> mean;      // (D)
  std::vector<double> loadings;  // (D, D): what a component adds to each column
  CellTable values;              // NaN in rows without a known cell

  /// Returns predictions of the components as predictions of the columns.
  CellFigures to_columns(const CellFigures& components) const;
};
/// The components of known cells, with `completed` for missing ones.
PrincipalComponents principal_components(const ColumnGaussian& gaussian, const CellTable& table,
                                         const CellFigures& completed);

}  // namespace npzoo
