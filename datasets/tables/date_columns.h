#pragma once

#include <string>
#include <vector>

#include "npzoo/datasets/tables/column_choice.h"

namespace npzoo {

/// Looks for columns that are a date together, if the choice names neither inputs nor a date. A column of dates that
/// repeat becomes `date` with the only column of times of day, or with one that its name and digits such as 0015 show
/// to be one. Throws Error, naming --date, for columns that are so by their names: a date and an hour, or year and
/// month, quarter, week or day. `targets`, if there are any, must have the same columns.
void find_date_columns(Table& table, const Table* targets, ColumnChoice& choice);

/// Throws Error, naming --date, if rows share their date and another column tells them apart as a time of day does.
void check_parts_of_date(Table& table, const ColumnChoice& choice, const RowKeys& rows);

}  // namespace npzoo
