#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "npzoo/datasets/tables/matching_rows.h"

namespace npzoo {

/// Places that several rows of one group have.
struct RepeatedInputs {
  std::int64_t places = 0, rows = 0;  // rows: at these places
  std::int64_t fewest = 0, most = 0;  // rows at one of these places
  std::int64_t first = -1;            // a row of the first such place in the table
};

/// Counts them among the rows `counted` (ascending).
RepeatedInputs repeated_inputs(const RowKeys& keys, std::int64_t dim_x, std::span<const std::uint32_t> counted);

/// Runs of rows that each ascend, or each descend, along one input.
struct InputRuns {
  std::int64_t count = 0;
  std::int64_t second = -1;  // the row that the second one begins with
};

/// Finds them if a table is made of several, each of five rows or more, that begin where the one before began; none
/// otherwise, and none for groups.
std::optional<InputRuns> runs_of_input(const RowKeys& keys);

}  // namespace npzoo
