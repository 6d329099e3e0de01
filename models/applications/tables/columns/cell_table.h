#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace npzoo {

/// Rows and columns of numbers, NaN where one is missing.
struct CellTable {
  std::size_t rows = 0, columns = 0;
  std::vector<double> cells{};  // row-major

  CellTable() = default;
  CellTable(std::size_t row_count, std::size_t column_count, double value = std::numeric_limits<double>::quiet_NaN())
      : rows(row_count), columns(column_count), cells(row_count * column_count, value) {}

  double& operator()(std::size_t row, std::size_t column) { return cells[row * columns + column]; }
  double operator()(std::size_t row, std::size_t column) const { return cells[row * columns + column]; }
  bool known(std::size_t row, std::size_t column) const { return !std::isnan((*this)(row, column)); }
};

/// A prediction of every cell. Figures of known cells mean nothing.
struct CellFigures {
  CellTable mean, std;

  CellFigures() = default;
  CellFigures(std::size_t rows, std::size_t columns) : mean(rows, columns, 0), std(rows, columns, 0) {}
};

/// Rows whose known cells are in the same columns.
struct RowPattern {
  std::vector<std::uint32_t> known{}, missing{};  // columns
  std::vector<std::uint32_t> rows{};
};

/// Returns the rows by their patterns, in an order that follows from the table.
std::vector<RowPattern> row_patterns(const CellTable& table);

}  // namespace npzoo
