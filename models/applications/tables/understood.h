#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "npzoo/models/applications/tables/fill_table.h"

namespace npzoo {

/// How many of the rows asked for miss each value: those that a prediction fills.
struct MissingCells {
  std::int64_t missing = 0, all = 0;
};
MissingCells missing_cells(const FillTables& tables, std::size_t value);

/// States how tables were understood, a line each: the kind and the range of the inputs, steps and absent rows, the
/// missing values, the season of the first series, and the columns that are not used.
std::vector<std::string> understood(const FillTables& tables);

/// Warns of a single input that begins anew: its runs may be series of their own. `place` writes where a row is, such
/// as "line 3".
std::optional<Warning> warning_of_runs(const FillData& data, const std::function<std::string(std::int64_t row)>& place);

}  // namespace npzoo
