#pragma once

#include <cstdint>
#include <string_view>

#include "npzoo/datasets/tables/calendar_codes.h"
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
  /// The shape of the numbers (see NumberDate and CalendarCode) if all cells are dates of digits alone; 0 otherwise.
  std::uint8_t date_shape() const;
  /// The first of them.
  DateTime first_date() const;
  /// True if all cells are a month and two digits that run on as days do: Jan 10, Jan 11, …, Feb 01. Months of years,
  /// Jan 19, Feb 19, change the month from row to row.
  bool days_without_year() const { return cells_ > 2 && month_days_.all && 2 * month_days_.run_on >= cells_; }
  /// True if all cells are dates of three numbers with points, the day first.
  bool pointed_days() const { return points_ && order() == DateOrder::dmy; }
  /// True if the numbers jump as dates do, and cannot be read as such.
  bool doubtful_dates() const { return date_shape() == 0 && codes_.doubtful(); }
  /// True if all cells are times of day, or times since a start.
  bool clocks() const { return cells_ > 0 && clocks_; }

 private:
  std::int64_t cells_ = 0;
  DecimalVote numbers_;
  bool day_first_ = true, month_first_ = true, points_ = true, dates_ = true, clocks_ = true;
  std::uint8_t shape_ = 0;
  DateTime first_date_;
  CalendarCodes codes_;
  struct MonthDays {
    bool all = true;
    int month = 0, number = 0;  // of the last cell
    std::int64_t run_on = 0;    // cells
    void add(std::string_view cell);
  };
  MonthDays month_days_;
};

}  // namespace npzoo
