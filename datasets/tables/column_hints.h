#pragma once

#include <span>
#include <string>

#include "npzoo/datasets/tables/column_rules.h"
#include "npzoo/datasets/tables/table.h"

namespace npzoo {

// Parts of messages that say what to do about a table, made of its own columns. Empty if there is nothing to say.

/// Names --missing with the texts that stand among the numbers of a column.
std::string missing_hint(Table& table, std::size_t column);
/// Names --missing with a number that is far from all others of one of these columns, as -999 often is.
std::string far_number_hint(Table& table, std::span<const std::string> columns);
/// Whether a column is named by a year, a month or a date.
bool names_time(const std::string& name);
/// Says how to use columns that are named by times; empty for fewer than three. The hint begins with "; ".
std::string wide_advice(std::span<const std::string> names);
std::string wide_hint(std::span<const std::string> names);

/// Says to delete the last rows, five at most, if they alone have words in this column: totals.
std::string footer_hint(Table& table, std::size_t column);

/// Whether a text may be a number or a date in a notation that is not read, such as 12 % or 13/06/2018.
bool is_nearly_data(const std::string& text);
/// Throws Error if the first rows hold neither numbers nor dates, and stand above columns of them: rows of units, or
/// lines before the names of the columns.
void check_units(const Table& table);
/// Throws Error with that hint if a column of values has texts among its numbers.
void check_marks(Table& table, std::span<const std::string> values);

/// Names the first column that would be one of numbers or dates, but for a cell or its notation.
std::string odd_cell(Table& table, const ColumnChoice& choice);
/// Says how a column without a name, or one of words, can be the input.
std::string input_hint(Table& table, const ColumnChoice& choice);
/// Names the first column with gaps that holds times or words in the place of numbers.
std::string other_gaps(Table& table, const ColumnChoice& choice);

}  // namespace npzoo
