#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
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
/// A column of texts with numbers, such as Week 1 or P1, a different one in each row.
struct RowTexts {
  std::string column, first;  // the first cell
  std::int64_t line = 0;
  bool may_be_times = false;       // Week 1, 1990/91 and FY1998, and not the names of persons or samples
  bool beside_categories = false;  // another column has words that repeat
};
std::optional<RowTexts> find_row_texts(Table& table, const ColumnChoice& choice);
/// Throws Error if such texts may be times: a number that is in no order must not take their place as the input.
void check_row_texts(Table& table, const ColumnChoice& choice, const std::string& input);
/// Throws Error if the numbers of an input jump as dates do. They are plain numbers only if the user says so.
void check_no_codes(const Table& table, std::span<const std::string> inputs);

}  // namespace npzoo
