#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "npzoo/datasets/tables/table_reader.h"
#include "npzoo/datasets/tables/table_writer.h"
#include "npzoo/engine/tensor.h"

namespace npzoo {

/// Row-major numbers as points of one task, (1, rows, width).
Tensor to_points(std::span<const double> rows, std::size_t width);

/// Points to predict.
struct TargetRows {
  std::vector<std::string> text;  // as they stand in their table
  std::vector<double> x;          // (count, Dx)

  std::int64_t count() const { return std::ssize(text); }
};

/// Reads the points to predict: all columns are the model's inputs, in its own order.
class TargetReader {
 public:
  /// Throws Error if there are not `dim_x` columns.
  TargetReader(const std::filesystem::path& path, std::int64_t dim_x);

  const std::vector<std::string>& x_names() const { return reader_.header(); }
  const std::vector<ColumnForm>& forms() const { return parser_.forms(); }
  /// Takes over the forms of the context's columns, so that days count from the same date.
  void set_forms(const std::vector<ColumnForm>& forms);
  TableStyle style() const { return {reader_.format().separator(), parser_.decimal_sign()}; }
  /// Replaces `rows` by the next ones, at most `max_rows`.
  void read(std::int64_t max_rows, TargetRows& rows);

 private:
  TableReader reader_;
  CellParser parser_;
};

/// Observed points as they stand in a table, row-major.
struct ObservedRows {
  std::int64_t count = 0;
  std::vector<double> x;  // (count, Dx)
  std::vector<double> y;  // (count, Dy)
};

/// Reads observed points. The columns that the targets have are x, in the targets' order; the others are y, in the
/// table's own order.
class ContextReader {
 public:
  /// Throws Error if a column of the targets is missing, or where there are not `dim_y` others.
  ContextReader(const std::filesystem::path& path, std::span<const std::string> x_names, std::int64_t dim_y);

  const std::vector<std::string>& y_names() const { return y_names_; }
  /// Returns the forms of x, in its order, for the rows read so far.
  std::vector<ColumnForm> forms() const;
  void set_forms(const std::vector<ColumnForm>& forms);
  /// The next rows, at most `max_rows`; fewer only at the end.
  ObservedRows read(std::int64_t max_rows);

 private:
  TableReader reader_;
  CellParser parser_;
  std::vector<std::size_t> x_columns_, y_columns_;
  std::vector<std::string> y_names_;
};

}  // namespace npzoo
