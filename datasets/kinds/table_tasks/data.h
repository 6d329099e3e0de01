#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "npzoo/datasets/kinds/table_tasks/config.h"

namespace npzoo {

/// One value column of one group, or of one block of rows: rows whose inputs are all known.
struct GroupColumn {
  std::string group;
  std::vector<double> x{};              // (rows, Dx), of one input in ascending order
  std::vector<double> y{};              // (rows), NaN if it is missing
  std::vector<std::int64_t> known{};    // rows with a value, ascending
  std::vector<std::int64_t> missing{};  // the others
};

/// The columns of a table, group by group. Groups, or blocks if there is only one group, are held out as wholes: which
/// ones depends on their order and number, and on the shares. Two groups are too few for three parts: then tests use
/// the part for validation.
struct TableData {
  static constexpr std::int64_t kLeastKnown = 6;  // rows with a value that a column must have

  std::vector<GroupColumn> training, validation, test;  // none is empty
  bool tested_on_validation = false;                    // these two are the same
};

/// Reads it. Throws Error as Table does, where the table has changed since it was described, and where there are not at
/// least two groups or blocks to learn from and to hold out.
TableData read_table_data(const TableTasks& tasks);

}  // namespace npzoo
