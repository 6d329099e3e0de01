#include "npzoo/datasets/tables/column_scan.h"

#include "npzoo/datasets/tables/clock_text.h"
#include "npzoo/datasets/tables/month_names.h"
#include "npzoo/datasets/tables/text_parts.h"

namespace npzoo {

namespace {

/// Whether a cell is a date of three numbers in this order.
bool is_date(std::string_view cell, DateOrder order) {
  return cell.find_first_of("/.-") != std::string_view::npos && parse_date_notation(cell, order, false).has_value();
}

}  // namespace

void ColumnScan::MonthDays::add(std::string_view cell) {
  constexpr std::size_t kDigits = 2;
  constexpr int kWeekend = 3;
  if (!all) return;
  const std::size_t gap = cell.find(' ');
  const bool fits =
      gap != std::string_view::npos && cell.size() == gap + 1 + kDigits && are_digits(cell.substr(gap + 1));
  const int named = fits ? month_of(cell.substr(0, gap)) : 0;
  all = named > 0;
  if (!all) return;
  const int found = value_of_digits(cell.substr(gap + 1));
  if (named == month && found > number && found <= number + kWeekend) ++run_on;
  month = named;
  number = found;
}

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
  codes_.add(cell);
  month_days_.add(cell);
  clocks_ = clocks_ && (parse_elapsed(cell) || !iso_clock(cell).empty());
  ++cells_;
}

std::uint8_t ColumnScan::date_shape() const {
  const bool dates = cells_ > 0 && shape_ != 0 && cells_ >= fewest_rows(shape_);
  const bool quarters = codes_.code() == CalendarCode::year_zero_quarter;  // 202401 … 202404, which may be months, too
  return dates && !quarters ? shape_ : static_cast<std::uint8_t>(codes_.code());
}

DateTime ColumnScan::first_date() const { return date_shape() == shape_ ? first_date_ : codes_.first(codes_.code()); }

DateOrder ColumnScan::order() const {
  if (cells_ == 0 || !(day_first_ || month_first_)) return DateOrder::unknown;
  if (day_first_ && month_first_) return points_ ? DateOrder::dmy : DateOrder::unknown;
  return day_first_ ? DateOrder::dmy : DateOrder::mdy;
}

}  // namespace npzoo
