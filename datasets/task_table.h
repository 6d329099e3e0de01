#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "npzoo/datasets/task.h"

namespace npzoo {

/// Receives tasks as rows of a table. Cells are text.
class TaskTable {
 public:
  struct Columns {
    std::vector<std::string> place;   // what says where a point is: the task, if there are several, and the inputs
    std::vector<std::string> values;  // what is there
    bool has_targets = true;          // false: every row is given, such as the events of whole sequences
  };
  struct Row {
    std::int64_t task = 0;  // from 0 on
    std::vector<std::string> place{}, values{};
    bool given = true;  // a point of the context; false: a target
  };

  virtual ~TaskTable() = default;
  /// Called once, before the first row.
  virtual void begin(const Columns& columns) = 0;
  virtual void add(const Row& row) = 0;
};

/// Writes the points of every task of a batch on the CPU, float32, sorted by their inputs. A target at the place of a
/// context point is left out. With `numbered` there is a column `task`. Throws Error for a number that is not finite.
void write_points(const Task& batch, bool numbered, TaskTable& table);

/// A number as text, the shortest that reads back as the same. `task` (from 0) is for the message. Throws Error if the
/// number is not finite.
std::string number_cell(float number, std::int64_t task);
std::string number_cell(double number, std::int64_t task);

}  // namespace npzoo
