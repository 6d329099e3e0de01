#pragma once

#include <string>
#include <vector>

#include "npzoo/datasets/tables/table.h"

namespace npzoo {

/// Covariates of a table as numbers. A column of text becomes a column of zeros and ones for each category.
struct CovariateColumns {
  std::vector<std::string> names{};    // (C): "elevation", "soil = clay"
  std::vector<std::size_t> columns{};  // (C): the number of the covariate that each belongs to
  std::vector<double> of_rows{};       // (rows, C)
  std::vector<double> of_targets{};    // (targets, C); empty without targets

  std::size_t count() const { return names.size(); }
};

/// The most categories of a column.
inline constexpr std::size_t kMostCategories = 64;

/// Returns true if the first cell of a column that is not missing is a word: neither a number nor a date, in whatever
/// notation.
bool holds_words(const Table& table, std::size_t column);

/// Reads the columns `names` of a table and, unless it is null, of its targets. Throws Error, naming the line, for a
/// cell that is missing or no number, and for a column of more than kMostCategories categories.
CovariateColumns read_covariates(Table& table, Table* targets, const std::vector<std::string>& names);

/// Returns rows of a (n, D) and b (n, C) side by side, (n, D + C).
std::vector<double> side_by_side(const std::vector<double>& a, const std::vector<double>& b, std::size_t rows);

}  // namespace npzoo
