#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "npzoo/datasets/tables/column_rules.h"
#include "npzoo/datasets/tables/matching_rows.h"

namespace npzoo {

/// Adds what `wishes` leaves open, if there is no doubt:
/// - values are the columns of numbers that miss some;
/// - inputs are those of open_inputs, or of inputs_of_rows if the model does not name their number: then there may be
///   none. If `date` names columns, they are the input, in front of those named.
/// Throws Error, naming the flags that end the doubt, where there is any, and where a column is missing or named twice.
ColumnChoice choose_columns(Table& table, const ColumnChoice& wishes, std::optional<std::int64_t> dim_x);

/// True if rows are complete: the columns that may be values miss none, and every cell can be read.
bool misses_nothing(Table& table, const ColumnChoice& wishes);

/// As choose_columns for rows without an input: no column becomes one.
ColumnChoice choose_rows(Table& table, const ColumnChoice& wishes);

/// The same where the rows to predict are not among those of the table: inputs are the column of dates, or one that is
/// called like a time, or two of coordinates, and values are all other columns of numbers. `command` writes a command
/// line with more flags, for messages.
ColumnChoice choose_series(Table& table, const ColumnChoice& wishes, std::optional<std::int64_t> dim_x,
                           const std::function<std::string(const std::string& flags)>& command);

/// The same where the rows to predict at are a table of their own: its columns are the inputs, and all other columns of
/// numbers the values.
ColumnChoice choose_columns(Table& table, const Table& targets, const ColumnChoice& wishes);

/// Throws Error if the rows have series_columns, all rows have one date, or times of day without a date begin anew.
/// `form` is that of the first input.
void check_one_series(Table& table, const ColumnChoice& choice, const RowKeys& rows, const ColumnForm& form);

}  // namespace npzoo
