#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "npzoo/datasets/tables/table.h"

namespace npzoo {

/// Which columns of a table are what; the others are passed on and not looked at.
struct ColumnChoice {
  std::vector<std::string> inputs{}, values{};
  std::string group{};              // of rows that belong together; empty: all of them do
  std::vector<std::string> date{};  // columns that are the first input together, such as year, month and day

  /// The name of that input: "year-month-day".
  std::string date_name() const;
};

/// Adds what `wishes` leaves open, where there is no doubt:
/// - values are the columns of numbers that miss some;
/// - the input is the column of dates and times, if there is one; else inputs are the columns of numbers without a gap,
///   if there are as many as the model takes. Where that is not known there must be one, or two with the names of
///   coordinates, such as lon and lat. Of several columns of dates it is the only one of ISO 8601. If `date` names
///   columns, they are the input, in front of those named.
/// Throws Error, naming the flags that end the doubt, where there is any, and where a column is missing or named twice.
ColumnChoice choose_columns(Table& table, const ColumnChoice& wishes, std::optional<std::int64_t> dim_x);

/// The same where the rows to predict at are a table of their own: its columns are the inputs, and all other columns of
/// numbers the values.
ColumnChoice choose_columns(Table& table, const Table& targets, const ColumnChoice& wishes);

}  // namespace npzoo
