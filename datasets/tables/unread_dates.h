#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "npzoo/datasets/tables/column_choice.h"

namespace npzoo {

// Errors about columns that seem to hold dates in a notation that npzoo does not read.

/// Returns "line 2: column "y" holds "12 %", expected a number"; empty if the reader of numbers accepts the column.
std::string complaint(Table& table, std::size_t column);

/// Throws Error if a column of dates cannot be read: it must not leave its place to any other number.
void check_no_other_dates(Table& table, const ColumnChoice& choice);
/// Throws Error if a column that is called a date holds numbers with other signs.
void check_unread_dates(Table& table, const ColumnChoice& choice);
/// Whether a column names each row, as P1 and P2 name patients, beside a column of words that repeat.
bool has_named_rows(Table& table, const ColumnChoice& choice);
/// Throws Error if a column has a different text in each row that may be a time, such as Week 1, 1990/91 and FY1998: a
/// number that is in no order must not take its place as the input. With no `input` there is no such number.
void check_row_texts(Table& table, const ColumnChoice& choice, const std::string& input);
/// Throws Error if the numbers of an input jump as dates do. They are plain numbers only if the user says so.
void check_no_codes(const Table& table, std::span<const std::string> inputs);

}  // namespace npzoo
