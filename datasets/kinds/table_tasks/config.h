#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "npzoo/datasets/own_data.h"

namespace npzoo {

/// `held_out = [0.1, 0.1]`. A single number, as older protocols have it, is one part that serves as both.
struct HeldOut {
  double validation = 0;
  std::optional<double> test{};  // none: tests use the part for validation
};

/// `[data] kind = "table_tasks"`: tasks out of a table of measurements.
struct TableTasks {
  std::string path;      // absolute; empty: the recipe for a table, which is still to be named
  std::string checksum;  // of its bytes: other ones are another table
  std::string group;     // the column whose values are the groups; empty: there are none
  std::vector<std::string> inputs, values;
  std::int64_t points = 512;  // rows that a task is made of, at most
  /// Shares of the groups, or of blocks of rows, that training never sees: for validation, and for tests.
  HeldOut held_out{.validation = 0.1, .test = 0.1};
};

/// Describes the tasks of a user's own table, of which it reads header and columns. Throws Error for columns that the
/// table does not have.
TableTasks describe_table(const OwnTable& own);

}  // namespace npzoo
