#pragma once

#include <cstdint>
#include <optional>
#include <string>
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
  /// The numbers of the cells, without their unit.
  const DecimalVote& numbers() const { return has_unit() ? with_unit_ : numbers_; }
  /// Whether all cells are numbers with one unit (see number_with_unit), three or more: "$" or "mm".
  bool has_unit() const { return units_ && cells_ >= kFewestUnits; }
  const std::string& unit() const { return unit_.empty() ? before_ : unit_; }
  /// The only order of day and month that all dates of the column may have; of two the day first, if all have points.
  DateOrder order() const;
  /// The shape of the numbers (see NumberDate and CalendarCode) if all cells are dates of digits alone; 0 otherwise.
  std::uint8_t date_shape() const;
  /// The first of them.
  DateTime first_date() const;
  /// True if all cells are a month and two digits that run on as days do: Jan 10, Jan 11, …, Feb 01. Months of years,
  /// Jan 19, Feb 19, change the month from row to row.
  /// Jan-19 is a month of a year wherever the whole column is in order as such: Dec-19, Dec-20, Dec-21.
  bool days_without_year() const {
    const bool months = month_days_.dashed && month_days_.months.in_order();
    return cells_ > 2 && month_days_.all && !months && 2 * month_days_.run_on >= cells_;
  }
  /// True if all cells are dates of three numbers with points, the day first.
  bool pointed_days() const { return points_ && order() == DateOrder::dmy; }
  /// True if all cells are 01.11.23 or the like: dates of two-digit years in this order.
  bool short_dates(DateOrder order) const;
  /// True if the numbers jump as dates do, and cannot be read as such.
  bool doubtful_dates() const { return date_shape() == 0 && codes_.doubtful(); }
  /// True if all cells are times of day, or times since a start. Texts such as 01.11.23 are times only if they cannot
  /// be dates, or are in order as times alone.
  bool clocks() const;

 private:
  /// How the cells follow each other, read in one way.
  struct Sequence {
    bool all = true, up = true, down = true;
    double first = 0, last = 0;
    void add(std::optional<double> place, bool is_first);
    bool in_order() const { return all && (up || down); }
  };
  bool may_be_short_dates() const { return cells_ > 0 && (short_days_.all || short_years_.all); }
  DateOrder short_order() const;

  std::int64_t cells_ = 0;
  static constexpr std::int64_t kFewestUnits = 3;
  bool units_ = true;
  std::string before_, unit_;  // what stands before and behind the numbers
  DecimalVote with_unit_;
  Sequence short_days_, short_years_, times_;  // 01.11.23 with the day first, with the year first, as a time
  DecimalVote numbers_;
  bool day_first_ = true, month_first_ = true, points_ = true, dates_ = true, clocks_ = true;
  std::uint8_t shape_ = 0;
  DateTime first_date_;
  CalendarCodes codes_;
  struct MonthDays {
    bool all = true;
    int month = 0, number = 0;  // of the last cell
    std::int64_t run_on = 0;    // cells
    bool dashed = false;        // or with another sign than a blank
    Sequence months;            // as months of years
    void add(std::string_view cell);
  };
  MonthDays month_days_;
};

}  // namespace npzoo
