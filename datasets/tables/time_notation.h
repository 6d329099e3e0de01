#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>

#include "npzoo/datasets/tables/cell_parser.h"

namespace npzoo {

/// The way in which a column writes times, such as 2024-01 or 31.12.2024 07:00, for rows that a table does not have.
class TimeNotation {
 public:
  /// Finds the notation that gives back each of `cells`, whose times are `days` (see ColumnForm). A cell may hold a
  /// part of the time, such as the hour. Words for months are those of the cells.
  TimeNotation(std::span<const std::string_view> cells, std::span<const double> days, const ColumnForm& form);

  /// False if no notation gives back all cells. `text` then writes ISO 8601.
  bool found() const { return !pattern_.empty(); }
  std::string text(double days) const;

 private:
  ColumnForm form_;
  std::string pattern_;
  std::array<std::string, 12> months_{};  // as the cells write them; empty: none does
  bool is_part_ = false;                  // the cells hold a part of their times, and another column the rest
};

}  // namespace npzoo
