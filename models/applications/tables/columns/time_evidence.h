#pragma once

#include "npzoo/models/applications/tables/columns/column_gaussian.h"

namespace npzoo {

/// Predicts missing cells from the known cells of their row and from `alone`, what each column's own model says of
/// them, such as from time. That is taken as a measurement of the cell whose error is correlated across columns as the
/// columns are, apart from the share of the column's own distribution in it. Rows without a known cell get `alone`.
CellFigures combine_with_time(const ColumnGaussian& gaussian, const CellTable& table, const CellFigures& alone);

/// The part of known cells that the other cells of their row do not predict. Missing cells among these count by their
/// measurement (see above).
struct ColumnRemainder {
  CellTable remainder;       // NaN where a cell is missing
  CellFigures from_others;   // of all cells
  std::vector<double> base;  // (D): the usual variance of a known cell
};
ColumnRemainder remainder_of_columns(const ColumnGaussian& gaussian, const CellTable& table, const CellFigures& alone);
/// Predicts missing cells as their expectation from the others and `remainder`, a prediction of what that leaves.
CellFigures add_remainder(const ColumnRemainder& columns, const CellTable& table, const CellFigures& remainder,
                          const CellFigures& alone);

}  // namespace npzoo
