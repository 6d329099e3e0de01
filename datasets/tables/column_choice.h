#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "npzoo/datasets/tables/column_rules.h"

namespace npzoo {

/// Adds what `wishes` leaves open, if there is no doubt:
/// - values are the columns of numbers that miss some;
/// - inputs are those of open_inputs. If `date` names columns, they are the input, in front of those named.
/// Throws Error, naming the flags that end the doubt, where there is any, and where a column is missing or named twice.
ColumnChoice choose_columns(Table& table, const ColumnChoice& wishes, std::optional<std::int64_t> dim_x);

/// The same where the rows to predict at are a table of their own: its columns are the inputs, and all other columns of
/// numbers the values.
ColumnChoice choose_columns(Table& table, const Table& targets, const ColumnChoice& wishes);

/// Throws Error if a table without a group has a series_column. `dates`: the first input is one of dates.
void check_one_series(Table& table, const ColumnChoice& choice, std::span<const double> x, bool dates);

}  // namespace npzoo
