#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace npzoo {

struct FillTables;

/// An even grid over the range of the observed places.
struct PlaceGrid {
  std::vector<std::int64_t> counts{};  // points along each input; empty: see `step`
  double step = 0;                     // between points, in the unit of the inputs

  bool any() const { return step > 0 || !counts.empty(); }
};

/// Reads "100x80", or a step such as "0.5". Throws Error for anything else.
PlaceGrid parse_grid(std::string_view text);

/// Rows to predict that no table holds. At most one of them.
struct AddedRows {
  std::int64_t horizon = 0;  // so many after the last row of each group, in its usual step
  PlaceGrid grid{};          // for each group
  bool absent = false;       // the rows of the table, and those that it lacks among its equal steps

  bool any() const { return horizon > 0 || absent || grid.any(); }
};

/// Makes the requested rows the targets of tables without covariates. Throws Error if their inputs have no such rows.
void add_rows(FillTables& tables, const AddedRows& rows);

}  // namespace npzoo
