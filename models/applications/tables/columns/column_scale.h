#pragma once

#include <span>
#include <vector>

#include "npzoo/models/applications/tables/columns/cell_table.h"

namespace npzoo {

/// A mean and a standard deviation.
struct CellGuess {
  double mean = 0, std = 1;
};

/// A monotone map of the values of a column to a scale on which they are roughly standard normal.
class ColumnScale {
 public:
  enum class Kind {
    standard,  // subtracts the mean and divides by the standard deviation
    scores     // normal scores: the quantile of the standard normal distribution at each value's rank
  };

  /// By the values that are not NaN. A column of one value maps to 0.
  ColumnScale(Kind kind, std::span<const double> values);

  double to(double value) const;
  CellGuess to(const CellGuess& guess) const;
  /// Mean and standard deviation of the column, which a standard scale maps to 0 and 1; 0 and 1 without a value, and
  /// deviation 1 of one value.
  CellGuess moments() const { return {centre_, width_}; }
  /// Returns mean and deviation of a value whose distribution on the scale is Gaussian. Scores take a quadrature.
  CellGuess back(const CellGuess& guess) const;

 private:
  double back(double value) const;

  double centre_ = 0, width_ = 1;
  std::vector<double> values_, scores_;  // empty: a straight line
};

/// Scales of all columns of a table.
std::vector<ColumnScale> column_scales(ColumnScale::Kind kind, const CellTable& table);
CellTable to_scale(const std::vector<ColumnScale>& scales, const CellTable& table);
CellFigures to_scale(const std::vector<ColumnScale>& scales, CellFigures figures);
/// Returns figures on the scales of columns in the units of the columns.
CellFigures from_scale(const std::vector<ColumnScale>& scales, CellFigures figures);

}  // namespace npzoo
