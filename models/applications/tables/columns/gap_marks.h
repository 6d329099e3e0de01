#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "npzoo/models/applications/tables/columns/cell_table.h"

namespace npzoo {

/// Whether a cell of a value is to be predicted if it is missing.
using AskedCell = std::function<bool(std::size_t row, std::size_t value)>;

/// Columns that help, but tell gaps from values: a status, or a battery that fails.
struct GapMarks {
  /// A known cell of a value that must not help others. It needs no prediction itself.
  struct ValueCell {
    std::size_t row, column;
    double value;
  };

  std::vector<std::size_t> left_out{};  // columns of helpers, ascending
  std::vector<std::string> texts{};     // which one is not used, and why
  std::vector<ValueCell> values{};      // blanked

  /// Drops the columns that are left out.
  void erase_from(std::vector<std::string>& names) const;
  /// Returns the table with the blanked cells of values as they were.
  CellTable with_values(CellTable cells) const;
};

/// Blanks cells of other columns in rows where a value is asked, and where they are unlike all cells beside known
/// values: there nothing says how the value goes with them. A cell is unlike if it lies beyond their range by more than
/// the width of this. If they have two values at most, or are words, any other one is unlike. This must be more than
/// chance: values are missing wherever the cells are unlike. The columns behind the first `values` are helpers, and
/// those of one name are the words of one column. A helper that then has one value, or none for half of the asked
/// cells, is left out.
GapMarks forget_gap_marks(CellTable& cells, std::size_t values, std::span<const std::string> names,
                          const AskedCell& asked);

}  // namespace npzoo
