#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "npzoo/datasets/tables/column_rules.h"
#include "npzoo/datasets/tables/table.h"

namespace npzoo {

/// A cell that is not missing.
struct ShownCell {
  std::int64_t row;
  std::string text;
};

/// Returns for every column the first four cells that are not missing, among the first rows.
std::vector<std::vector<ShownCell>> first_cells(const Table& table);

/// Returns the facts about columns that choices depend on.
std::vector<ColumnFacts> facts_of(Table& table);

/// The open columns of a kind (see open_columns).
std::vector<std::string> open_columns_of(Table& table, const ColumnChoice& choice, ColumnSummary::Kind kind);

/// Returns the columns of numbers that a choice leaves over; if it has inputs, only those that miss nothing.
std::vector<std::string> helping_columns(Table& table, const ColumnChoice& choice);
/// The same for columns of words.
std::vector<std::string> helping_words(Table& table, const ColumnChoice& choice);

}  // namespace npzoo
