#include "npzoo/datasets/tables/column_scan.h"

#include <cmath>

#include "npzoo/datasets/tables/clock_text.h"
#include "npzoo/datasets/tables/month_names.h"
#include "npzoo/datasets/tables/text_parts.h"

namespace npzoo {

namespace {

/// Whether a cell is a date of three numbers in this order.
bool is_date(std::string_view cell, DateOrder order) {
  return cell.find_first_of("/.-") != std::string_view::npos && parse_date_notation(cell, order, false).has_value();
}

/// 01.11.23 and 1.11.23 as a date in days.
std::optional<double> short_date(std::string_view cell, DateOrder order) {
  constexpr std::size_t kLongest = 8, kPoint = 3;
  const std::size_t size = cell.size();
  if (size > kLongest || size + 1 < kLongest || cell[size - kPoint] != '.' || cell[size - 2 * kPoint] != '.') return {};
  const auto found = parse_date_notation(cell, order, true);
  return found ? std::optional(days_since(0, *found)) : std::nullopt;
}

}  // namespace

void ColumnScan::Sequence::add(std::optional<double> place, bool is_first) {
  all = all && place;
  if (!all) return;
  if (is_first) first = last = *place;
  up = up && *place >= last;
  down = down && *place <= last;
  last = *place;
}

void ColumnScan::MonthDays::add(std::string_view cell) {
  constexpr std::size_t kDigits = 2;
  constexpr int kWeekend = 3;
  if (!all) return;
  const std::size_t gap = cell.find_first_of(" -/.");
  const bool fits =
      gap != std::string_view::npos && cell.size() == gap + 1 + kDigits && are_digits(cell.substr(gap + 1));
  const int named = fits ? month_of(cell.substr(0, gap)) : 0;
  all = named > 0;
  if (!all) return;
  const int found = value_of_digits(cell.substr(gap + 1));
  if (named == month && found > number && found <= number + kWeekend) ++run_on;
  constexpr int kFirstYear = 69, kCentury = 100, kMonths = 12;
  months.add(kMonths * (found + (found < kFirstYear ? kCentury : 0)) + named, month == 0);
  dashed = dashed || cell[gap] != ' ';
  month = named;
  number = found;
}

void ColumnScan::add(std::string_view cell) {
  numbers_.add(cell);
  if (units_) {
    const auto found = number_with_unit(cell);
    units_ = found && (cells_ == 0 || (found->before == before_ && found->behind == unit_));
    if (units_ && cells_ == 0) {
      before_ = found->before;
      unit_ = found->behind;
    }
    if (units_) with_unit_.add(found->number);
  }
  if (day_first_ || month_first_) {
    day_first_ = day_first_ && is_date(cell, DateOrder::dmy);
    month_first_ = month_first_ && is_date(cell, DateOrder::mdy);
    // Behind the first word - stands between the dates of an interval.
    points_ = points_ && cell.substr(0, cell.find(' ')).find_first_of("/-") == std::string_view::npos;
  }
  if (dates_) {
    const auto found = parse_number_date(cell);
    dates_ = found && (cells_ == 0 || found->shape == shape_);
    shape_ = dates_ ? found->shape : 0;
    if (dates_ && cells_ == 0) first_date_ = found->time;
  }
  codes_.add(cell);
  month_days_.add(cell);
  if (short_days_.all) short_days_.add(short_date(cell, DateOrder::dmy), cells_ == 0);
  if (short_years_.all) short_years_.add(short_date(cell, DateOrder::ymd), cells_ == 0);
  if (clocks_) {
    const std::optional<std::int64_t> time = parse_elapsed(cell);
    clocks_ = time || !iso_clock(cell).empty();
    times_.add(time ? std::optional(static_cast<double>(*time)) : std::nullopt, cells_ == 0);
  }
  ++cells_;
}

std::uint8_t ColumnScan::date_shape() const {
  const bool dates = cells_ > 0 && shape_ != 0 && cells_ >= fewest_rows(shape_);
  const bool quarters = codes_.code() == CalendarCode::year_zero_quarter;  // 202401 … 202404, which may be months, too
  return dates && !quarters ? shape_ : static_cast<std::uint8_t>(codes_.code());
}

DateTime ColumnScan::first_date() const { return date_shape() == shape_ ? first_date_ : codes_.first(codes_.code()); }

/// Returns the order in which the dates go on. If they do so in both orders, the one with the shorter span counts.
DateOrder ColumnScan::short_order() const {
  if (!may_be_short_dates()) return DateOrder::unknown;
  const auto span = [](const Sequence& dates) { return std::abs(dates.last - dates.first); };
  if (short_days_.in_order() && short_years_.in_order())
    return span(short_days_) <= span(short_years_) ? DateOrder::dmy : DateOrder::ymd;
  if (short_days_.in_order()) return DateOrder::dmy;
  if (short_years_.in_order()) return DateOrder::ymd;
  if (times_.in_order() || (short_days_.all && short_years_.all)) return DateOrder::unknown;
  return short_days_.all ? DateOrder::dmy : DateOrder::ymd;
}

bool ColumnScan::short_dates(DateOrder order) const {
  return cells_ > 0 && ((order == DateOrder::dmy && short_days_.all) || (order == DateOrder::ymd && short_years_.all));
}

bool ColumnScan::clocks() const {
  if (cells_ == 0 || !clocks_) return false;
  return !may_be_short_dates() || (short_order() == DateOrder::unknown && times_.in_order());
}

DateOrder ColumnScan::order() const {
  if (cells_ == 0 || !(day_first_ || month_first_)) return short_order();
  if (day_first_ && month_first_) return points_ ? DateOrder::dmy : DateOrder::unknown;
  return day_first_ ? DateOrder::dmy : DateOrder::mdy;
}

}  // namespace npzoo
