#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "npzoo/models/applications/tables/columns/cell_table.h"
#include "npzoo/models/applications/tables/fill.h"

namespace npzoo {

/// Lays out the columns that may help each other as a table of cells, with a column for each value and helper of each
/// group. Its rows are those of the data in the order of their only input; a row that was written
/// twice counts once. With groups they are the places, at which some groups may have no row.
class CellLayout {
 public:
  /// `data` must outlive this.
  explicit CellLayout(const FillData& data);

  /// Why columns cannot be laid out; empty: they are.
  const std::string& refusal() const { return refusal_; }
  std::size_t rows() const { return rows_; }
  std::size_t columns() const { return columns_.size(); }
  /// The first columns, which hold values.
  std::size_t values() const { return values_; }
  /// Names of the columns: "no2", or "no2 of north".
  std::vector<std::string> names() const;

  /// Leaves out columns of helpers, which ascend.
  void leave_out(std::span<const std::size_t> columns);

  /// The row of the data that has a cell, or none.
  static constexpr std::int64_t kNoRow = -1;
  std::int64_t data_row(std::size_t row, std::size_t column) const {
    return at_[row * groups_ + columns_[column].group];
  }
  /// A row of the data that repeats another one.
  struct Copy {
    std::size_t row, of;
  };
  const std::vector<Copy>& copies() const { return copies_; }
  /// The number of the value of a column.
  std::size_t value_of(std::size_t column) const { return columns_[column].source; }

  /// The input of each row, ascending, if it is the only one beside covariates; else empty.
  std::vector<double> times() const;
  /// The cells of values and helpers.
  CellTable cells() const;
  /// Value columns of the data with these cells instead. Copies have none: they would count as more measurements.
  std::vector<std::vector<double>> values_of(const CellTable& cells) const;
  /// Predictions of the values among `shown`. Other cells have mean and deviation of their column.
  CellFigures figures(const FillResult& result, const CellTable& shown) const;

 private:
  struct Column {
    std::size_t source;  // number of the value, then of the helper
    std::uint32_t group;
  };

  void lay_out_rows();
  void lay_out_groups();
  bool varies(const Column& column) const;
  bool same(std::int64_t a, std::int64_t b) const;
  std::size_t sources() const { return data_.values.size() + data_.helpers.size(); }

  const FillData& data_;
  std::string refusal_;
  std::size_t rows_ = 0, groups_ = 1, values_ = 0;
  std::vector<std::int64_t> at_;  // (rows, groups)
  std::vector<Column> columns_;
  std::vector<Copy> copies_;
};

}  // namespace npzoo
