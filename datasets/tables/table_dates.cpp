// Columns of a table as dates: by all cells of a column, or of several columns together.
#include <fmt/format.h>

#include <algorithm>

#include "npzoo/datasets/tables/table.h"
#include "npzoo/datasets/tables/text_parts.h"
#include "npzoo/engine/cancellation.h"
#include "npzoo/engine/error.h"
#include "npzoo/engine/io/text.h"

namespace npzoo {

namespace {

constexpr std::int64_t kPolledRows = 8192;

/// The cells of some columns, row by row.
class PartRows {
 public:
  PartRows(const Table& table, std::span<const std::size_t> columns)
      : table_(table), columns_(columns), parts_(columns.size()) {}

  std::span<const std::string_view> at(std::int64_t row) {
    if (row % kPolledRows == 0) throw_if_stopped();
    table_.format().split(table_.text(row), table_.line(row), cells_);
    for (std::size_t i = 0; i < columns_.size(); ++i) parts_[i] = trim(cells_.text[columns_[i]]);
    return parts_;
  }

 private:
  const Table& table_;
  std::span<const std::size_t> columns_;
  Cells cells_;
  std::vector<std::string_view> parts_;
};

std::string joined(std::span<const std::string_view> parts) {
  std::string text;
  for (const std::string_view part : parts) text.append(text.empty() ? "" : " ").append(part);
  return text;
}

/// Whether a name says that a column of numbers is one of dates: month, YYYYMM, period.
bool means_date(std::string_view name) {
  std::string small;
  for (const char c : name) small += small_letter(c);
  const auto has = [&](std::string_view word) { return small.find(word) != std::string::npos; };
  return part_named(name) != DatePart::none || has("date") || has("yyyymm") || has("aaaamm") || has("jjjjmm") ||
         has("month") || has("period");
}

/// The minutes from the first time to the second in 2024-03-01 00:00-01:00; 0 for anything else.
std::int64_t minutes_between(std::string_view cell) {
  constexpr std::size_t kTimes = 11, kTime = 5;
  constexpr std::int64_t kDay = 1440;
  if (cell.size() < kTimes + 2) return 0;
  const std::string_view times = cell.substr(cell.size() - kTimes);
  const auto minutes = [](std::string_view time) {
    return are_digits(time.substr(0, 2)) && time[2] == ':' && are_digits(time.substr(3))
               ? 60 * value_of_digits(time.substr(0, 2)) + value_of_digits(time.substr(3))
               : -1;
  };
  const int from = minutes(times.substr(0, kTime)), to = minutes(times.substr(kTime + 1));
  if (times[kTime] != '-' || from < 0 || to < 0) return 0;
  return (to - from + kDay) % kDay;
}

/// Throws Error for intervals that look like times with an offset: 00:00-01:00, 01:00-02:00.
void check_intervals(const Table& table, std::size_t column) {
  constexpr std::int64_t kFewest = 3;
  PartRows cells(table, {&column, 1});
  std::int64_t length = 0;
  std::string first;
  bool vary = false;
  for (std::int64_t row = 0; row < table.rows(); ++row) {
    const std::string_view cell = cells.at(row)[0];
    const std::int64_t minutes = minutes_between(cell);
    if (minutes == 0 || (row > 0 && minutes != length)) return;
    length = minutes;
    if (row == 0) first = cell;
    vary = vary || cell.substr(cell.size() - 5) != std::string_view(first).substr(first.size() - 5);
  }
  if (vary && table.rows() >= kFewest)
    fail("[{}:{}] column {} holds the intervals {} and so on, expected their beginnings alone", table.format().name(),
         table.line(0), table.format().title(column), in_quotes(first));
}

}  // namespace

void Table::find_dates(std::vector<ColumnSummary>& all) const {
  using Kind = ColumnSummary::Kind;
  constexpr std::uint8_t kSureShape = 8, kLastSureShape = 14;
  const auto take = [&](std::size_t c, bool clock) {
    all[c].kind = Kind::time;
    all[c].clock = clock;
    all[c].odd_row = -1;
  };
  std::vector<std::size_t> unsure;
  for (std::size_t c = 0; c < all.size(); ++c) {
    const std::uint8_t shape = all[c].missing == 0 ? scans()[c].date_shape() : std::uint8_t{0};
    const bool sure = shape >= kSureShape && shape <= kLastSureShape;
    if (sure || scans()[c].order() != DateOrder::unknown)
      take(c, false);
    else if (scans()[c].clocks() && all[c].kind != Kind::time)  // --dates may have made dates of them
      take(c, true);
    else if (shape != 0)
      unsure.push_back(c);
  }
  const bool any = std::ranges::any_of(all, [](const ColumnSummary& s) { return s.kind == Kind::time && !s.clock; });
  if (any || unsure.size() != 1) return;
  const auto is_other_input = [&](const ColumnSummary& s) {
    return s.kind == Kind::number && s.missing == 0 && &s != &all[unsure[0]];
  };
  if (means_date(header()[unsure[0]]) || std::ranges::none_of(all, is_other_input)) take(unsure[0], false);
}

std::vector<ColumnForm> Table::input_forms(std::span<const std::size_t> columns) const {
  std::vector<ColumnForm> forms(columns.size());
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const ColumnScan& scan = scans()[columns[i]];
    ColumnForm& form = forms[i];
    if (const std::uint8_t shape = scan.cells() == rows() ? scan.date_shape() : std::uint8_t{0}; shape != 0) {
      form.kind = ColumnForm::Kind::time;
      form.epoch = scan.first_date().day;
      form.shape = shape;
    } else if (scan.clocks() && !scan.short_dates(date_order(columns[i]))) {
      form.kind = ColumnForm::Kind::time;
      form.clock = true;
    } else {
      form.order = date_order(columns[i]);
      check_intervals(*this, columns[i]);
      if (scan.days_without_year())
        fail(
            "[{}:{}] column {} holds {}, a day of a month or a month of a year, expected whole years: 10 Jan 2024 or "
            "Jan 2010",
            format_.name(), line(0), format_.title(columns[i]),
            in_quotes(PartRows(*this, columns.subspan(i, 1)).at(0)[0]));
    }
  }
  return forms;
}

DateOrder Table::date_order(std::size_t column) const {
  return rules_.dates != DateOrder::unknown ? rules_.dates : scans()[column].order();
}

std::optional<DateParts> Table::date_parts(std::span<const std::size_t> columns, std::int64_t rows,
                                           const DateParts& usual) const {
  std::vector<PartScan> scans;
  std::vector<std::string> names;
  for (const std::size_t c : columns) {
    scans.emplace_back(date_order(c));
    names.push_back(header()[c]);
  }
  const CellParser parser(format_, rules_);
  PartRows cells(*this, columns);
  for (std::int64_t row = 0; row < rows; ++row) {
    const std::span<const std::string_view> parts = cells.at(row);
    for (std::size_t i = 0; i < columns.size(); ++i)
      if (!parser.is_missing(parts[i])) scans[i].add(parts[i]);
  }
  bool fits = columns.size() <= usual.size();
  for (std::size_t i = 0; fits && i < columns.size(); ++i) fits = scans[i].may_be(usual[i]);
  return fits ? std::optional(usual) : parts_of_date(names, scans);
}

std::optional<DateParts> Table::date_parts(std::span<const std::size_t> columns) const {
  return date_parts(columns, rows(), {});
}

NumberColumn Table::joined_times(std::span<const std::size_t> columns, const ColumnForm& form) const {
  NumberColumn joined_column{.form = form, .values = {}};
  if (rows() == 0) return joined_column;
  constexpr std::int64_t kFirstRow = 1;
  PartRows cells(*this, columns);
  std::optional<DateParts> found = date_parts(columns, rows(), form.parts);
  if (!found) found = date_parts(columns, kFirstRow, form.parts);  // then a later row is wrong
  if (!found)
    fail("[{}:{}] the columns of --date hold {}, expected a date and a time of day, or year, month and day",
         format_.name(), line(0), in_quotes(joined(cells.at(0))));
  ColumnForm& own = joined_column.form;
  own.parts = *found;
  const DateOrder order = date_order(columns[0]);
  const bool short_years = rules_.dates != DateOrder::unknown || scans()[columns[0]].short_dates(order);
  for (std::int64_t row = 0; row < rows(); ++row) {
    const std::span<const std::string_view> parts = cells.at(row);
    const JoinedDate date = join_date(own.parts, parts, order, short_years);
    const auto refuse = [&](std::string_view expected) {
      fail("[{}:{}] column {} holds {}, expected {}", format_.name(), line(row), format_.title(columns[date.wrong]),
           in_quotes(parts[date.wrong]), expected);
    };
    if (!date.time) refuse(expected_of(own.parts[date.wrong]));
    if (own.kind == ColumnForm::Kind::unknown) {
      own.kind = ColumnForm::Kind::time;
      own.zoned = date.time->zoned;
      own.epoch = date.time->day;
    }
    if (own.zoned != date.time->zoned)
      refuse(own.zoned ? "a time with a zone" : "a time without a zone, like the others");
    joined_column.values.push_back(days_since(own.epoch, *date.time));
  }
  return joined_column;
}

}  // namespace npzoo
