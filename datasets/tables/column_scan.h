#pragma once

#include <cstdint>
#include <string_view>

#include "npzoo/datasets/tables/date_codes.h"
#include "npzoo/datasets/tables/date_notations.h"
#include "npzoo/datasets/tables/number_text.h"

namespace npzoo {

/// The facts that all cells of a column show together. One cell does not decide what 03/04/2020, 202312 and 1.350 are.
class ColumnScan {
 public:
  /// Adds a cell that is not missing.
  void add(std::string_view cell);

  /// The cells that are not missing.
  std::int64_t cells() const { return cells_; }
  const DecimalVote& numbers() const { return numbers_; }
  /// The only order of day and month that all dates of the column may have; of two the day first, if all have points.
  DateOrder order() const;
  /// The shape of the numbers (see NumberDate) if all cells are dates of digits alone; 0 otherwise.
  std::uint8_t date_shape() const { return cells_ >= fewest_rows(shape_) ? shape_ : 0; }
  /// The first of them.
  const DateTime& first_date() const { return first_date_; }
  /// True if all cells are times of day, or times since a start.
  bool clocks() const { return cells_ > 0 && clocks_; }

 private:
  std::int64_t cells_ = 0;
  DecimalVote numbers_;
  bool day_first_ = true, month_first_ = true, points_ = true, dates_ = true, clocks_ = true;
  std::uint8_t shape_ = 0;
  DateTime first_date_;
};

}  // namespace npzoo
