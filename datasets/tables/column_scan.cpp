#include "npzoo/datasets/tables/column_scan.h"

#include "npzoo/datasets/tables/clock_text.h"

namespace npzoo {

namespace {

/// Whether a cell is a date of three numbers in this order.
bool is_date(std::string_view cell, DateOrder order) {
  return cell.find_first_of("/.-") != std::string_view::npos && parse_date_notation(cell, order, false).has_value();
}

}  // namespace

void ColumnScan::add(std::string_view cell) {
  numbers_.add(cell);
  if (day_first_ || month_first_) {
    day_first_ = day_first_ && is_date(cell, DateOrder::dmy);
    month_first_ = month_first_ && is_date(cell, DateOrder::mdy);
    points_ = points_ && cell.find_first_of("/-") == std::string_view::npos;
  }
  if (dates_) {
    const auto found = parse_number_date(cell);
    dates_ = found && (cells_ == 0 || found->shape == shape_);
    shape_ = dates_ ? found->shape : 0;
    if (dates_ && cells_ == 0) first_date_ = found->time;
  }
  clocks_ = clocks_ && (parse_elapsed(cell) || !iso_clock(cell).empty());
  ++cells_;
}

DateOrder ColumnScan::order() const {
  if (cells_ == 0 || !(day_first_ || month_first_)) return DateOrder::unknown;
  if (day_first_ && month_first_) return points_ ? DateOrder::dmy : DateOrder::unknown;
  return day_first_ ? DateOrder::dmy : DateOrder::mdy;
}

}  // namespace npzoo
