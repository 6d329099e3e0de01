#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "npzoo/datasets/tables/column_rules.h"
#include "npzoo/datasets/tables/table.h"

namespace npzoo {

/// The question that columns are chosen for.
struct ColumnsWanted {
  const Table* targets = nullptr;       // rows to predict at
  std::optional<std::int64_t> dim_x{};  // inputs of the model, if it is known already
  bool adds_rows = false;               // rows behind those of the table are predicted instead
  /// Writes a command line with more flags, for messages.
  std::function<std::string(const std::string& flags)> command = [](const std::string& flags) { return flags; };
};

struct ChosenColumns {
  ColumnChoice columns{};
  bool complete = false;    // no value is missing, and no other row is asked
  bool one_series = false;  // wishes say that all rows are one series
};

/// Chooses the columns of a table whose missing values, or whose `targets`, are to be predicted. Every front end of
/// npzoo chooses by it. `wishes` name columns; the input `none` means that rows have none, the group `none` that all
/// rows are one series. Inputs of words become covariates. Throws Error if a choice is in doubt.
ChosenColumns choose_to_fill(Table& table, ColumnChoice wishes, const ColumnsWanted& wanted);

}  // namespace npzoo
