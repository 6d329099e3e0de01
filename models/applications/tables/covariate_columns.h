#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "npzoo/datasets/tables/table.h"
#include "npzoo/models/applications/tables/fill.h"

namespace npzoo {

/// The most categories of a column.
inline constexpr std::size_t kMostCategories = 64;

/// Covariates as numbers. A column of text becomes a column of zeros and ones for each category.
class CovariateColumns {
 public:
  /// Adds a column of numbers, of the rows and of the targets, if there are any.
  void add_numbers(const std::string& name, std::vector<double> rows, std::vector<double> targets = {});
  /// Adds a column of text. Categories come in the order in which they appear. Throws Error for more than
  /// kMostCategories; `where` begins its message.
  void add_categories(const std::string& name, const Table::Labels& rows, const Table::Labels* targets,
                      std::string_view where);

  std::size_t count() const { return names_.size(); }
  /// (C): "elevation", "soil = clay".
  const std::vector<std::string>& names() const { return names_; }
  /// (C): the number of the column that each was made of.
  const std::vector<std::size_t>& columns() const { return columns_; }
  /// Returns inputs (rows, D) with the covariates behind them, (rows, D + C).
  std::vector<double> behind_rows(std::span<const double> x) const { return behind(x, of_rows_); }
  std::vector<double> behind_targets(std::span<const double> x) const { return behind(x, of_targets_); }

 private:
  static std::vector<double> behind(std::span<const double> x, const std::vector<std::vector<double>>& columns);

  std::vector<std::string> names_;
  std::vector<std::size_t> columns_;
  std::vector<std::vector<double>> of_rows_, of_targets_;  // C columns
  std::size_t given_ = 0;                                  // columns that were added
};

/// Data to fill with covariates as its last inputs.
class WithCovariates {
 public:
  /// Copies the inputs of the data.
  WithCovariates(const FillData& data, CovariateColumns covariates);

  /// Returns the same data with these inputs. This object must outlive it.
  FillData data(FillData data) const;

 private:
  CovariateColumns covariates_;
  std::vector<double> x_, targets_;
};

/// Returns true if the first cell of a column that is not missing is a word: neither a number nor a date, in whatever
/// notation.
bool holds_words(const Table& table, std::size_t column);

/// Reads the columns `names` of a table and, unless it is null, of its targets. A missing number is NaN, and rows
/// without a word have the category "missing". Throws Error, naming the line, for a cell that is no number, and for a
/// column of more than kMostCategories categories.
CovariateColumns read_covariates(Table& table, Table* targets, const std::vector<std::string>& names);

}  // namespace npzoo
