#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "npzoo/datasets/tables/column_rules.h"
#include "npzoo/datasets/tables/repeated_inputs.h"

namespace npzoo {

/// Columns that may tell apart series whose rows share their inputs.
struct SeriesColumns {
  std::vector<std::string> names;
  RepeatedInputs found;  // places that several rows have

  /// "12 dates twice".
  std::string text(bool dates) const;
};

/// The column of few texts, each in one run of rows, between whose runs inputs begin anew: most runs begin before the last
/// row, and inputs fall nowhere else. None for several inputs, groups or covariates. `labels(c)` reads a column as text.
std::optional<std::string> column_of_runs(std::span<const ColumnFacts> columns, const ColumnChoice& choice,
                                          const RowKeys& rows,
                                          const std::function<Table::Labels(std::size_t)>& labels);

/// Finds one column, two or three of a table that tell rows of equal inputs, group and covariates apart. Texts with few
/// different cells come first, then numbers, then dates. Numbers may tell a few rows apart by chance: they count if
/// half of the rows have inputs of others and, unless it is a single column of whole numbers, if most series have a row
/// at most places. `labels(c)` reads a column as text.
std::optional<SeriesColumns> series_columns(std::span<const ColumnFacts> columns, const ColumnChoice& choice,
                                            const RowKeys& rows,
                                            const std::function<Table::Labels(std::size_t)>& labels);

}  // namespace npzoo
