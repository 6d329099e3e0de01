#include "npzoo/datasets/tables/table.h"

#include <algorithm>
#include <unordered_map>

#include "npzoo/datasets/tables/table_reader.h"
#include "npzoo/engine/boundary.h"
#include "npzoo/engine/cancellation.h"
#include "npzoo/engine/error.h"
#include "npzoo/engine/io/text.h"

namespace npzoo {

namespace {

constexpr std::int64_t kPollRows = 8192;

/// Looks at the stop token every so many rows.
void poll_row(std::int64_t row) {
  if (row % kPollRows == 0) throw_if_stopped();
}

/// Finds the only order of day and month that all dates of a column may have.
class OrderOfDates {
 public:
  void add(std::string_view cell) {
    any_ = true;
    day_first_ = day_first_ && parse(cell, DateOrder::dmy);
    month_first_ = month_first_ && parse(cell, DateOrder::mdy);
  }
  /// False as soon as the cells are no such dates.
  bool open() const { return day_first_ || month_first_; }
  DateOrder found() const {
    if (!any_ || day_first_ == month_first_) return DateOrder::unknown;
    return day_first_ ? DateOrder::dmy : DateOrder::mdy;
  }

 private:
  static bool parse(std::string_view cell, DateOrder order) {
    return cell.find_first_of("/.-") != std::string_view::npos && parse_date_notation(cell, order, false);
  }

  bool any_ = false, day_first_ = true, month_first_ = true;
};

/// A cell between quotes, as a file would write it.
std::string quoted(const std::string& cell) {
  std::string text = "\"";
  for (const char c : cell) text += c == '"' ? "\"\"" : std::string(1, c);
  return text + '"';
}

}  // namespace

Table Table::read(const std::filesystem::path& path, const Options& options) {
  return with_errors([&] {
    TableReader reader(path, options.skip_rows);
    Table table(reader.format());
    table.rules_ = options.cells;
    table.first_line_ = reader.format().header_line() + 1;
    while (reader.next()) {
      reader.cells();  // as many as there are columns
      table.breaks_.insert(table.breaks_.end(), static_cast<std::size_t>(std::ranges::count(reader.text(), '\n')),
                           table.rows());
      table.text_ += reader.text();
      table.begins_.push_back(table.text_.size());
      poll_row(table.rows());
      if (options.progress && table.rows() % kPollRows == 0) options.progress(table.rows());
    }
    return table;
  });
}

Table Table::of_column(const std::string& name, std::span<const std::string> cells, const CellRules& rules) {
  const bool is_word = name.find_first_not_of("+-.0123456789 ") != std::string::npos;  // no header is numbers alone
  Table table(TableFormat("row", -1, quoted(is_word ? name : "column " + name), ','));
  table.rules_ = rules;
  for (const std::string& cell : cells) {
    table.text_ += quoted(cell);
    table.begins_.push_back(table.text_.size());
  }
  return table;
}

Table Table::of_lines(const Table& like, const std::string& name, std::string_view header,
                      std::span<const std::string> lines) {
  constexpr std::int64_t kHeaderLine = 1;
  Table table(TableFormat(name, kHeaderLine, header, like.format().separator()));
  table.rules_ = like.rules_;
  table.decimal_sign_ = like.decimal_sign_;
  table.first_line_ = kHeaderLine + 1;
  for (const std::string& line : lines) {
    table.breaks_.insert(table.breaks_.end(), static_cast<std::size_t>(std::ranges::count(line, '\n')), table.rows());
    table.text_ += line;
    table.begins_.push_back(table.text_.size());
  }
  return table;
}

std::string_view Table::text(std::int64_t row) const {
  const auto at = static_cast<std::size_t>(row);
  return std::string_view(text_).substr(begins_[at], begins_[at + 1] - begins_[at]);
}

std::int64_t Table::line(std::int64_t row) const {
  return first_line_ + row + (std::ranges::lower_bound(breaks_, row) - breaks_.begin());
}

const std::vector<ColumnSummary>& Table::summaries() {
  using Kind = ColumnSummary::Kind;
  std::vector<ColumnSummary>& all = summaries_;
  if (!all.empty()) return all;
  all.resize(format_.columns());
  CellParser parser(format_, rules_);
  Cells cells;
  std::vector<CellParser::Decimal> decimals(all.size(), parser.decimal());  // as each column by itself shows
  std::vector<OrderOfDates> orders(all.size());
  std::vector<bool> compact(all.size(), rows() > 1);  // YYYYMMDD alone
  for (std::int64_t row = 0; row < rows(); ++row) {
    poll_row(row);
    format_.split(text(row), 0, cells);
    for (std::size_t c = 0; c < all.size(); ++c) {
      compact[c] = compact[c] && parse_compact_date(cells.text[c]);
      const std::string_view cell = trim(cells.text[c]);
      if (parser.is_missing(cell)) {
        ++all[c].missing;
        continue;
      }
      if (orders[c].open()) orders[c].add(cell);
      if (all[c].kind != Kind::text) {
        parser.set_decimal(decimals[c]);
        const ColumnForm::Kind kind = parser.kind_of(cell);
        decimals[c] = parser.decimal();
        const Kind found = kind == ColumnForm::Kind::number ? Kind::number
                           : kind == ColumnForm::Kind::time ? Kind::time
                                                            : Kind::text;
        if (all[c].kind != Kind::empty && all[c].kind != found) all[c].odd_row = row;
        all[c].kind = all[c].kind == Kind::empty || all[c].kind == found ? found : Kind::text;
      }
    }
  }
  for (std::size_t c = 0; c < all.size(); ++c)
    if (compact[c] || orders[c].found() != DateOrder::unknown) all[c].kind = Kind::time, all[c].odd_row = -1;
  return all;
}

std::optional<DateTime> Table::first_compact_date(std::size_t column) const {
  if (rows() < 2) return {};
  std::optional<DateTime> first;
  Cells cells;
  for (std::int64_t row = 0; row < rows(); ++row) {
    poll_row(row);
    format_.split(text(row), 0, cells);
    const auto found = parse_compact_date(trim(cells.text[column]));
    if (!found) return {};
    if (row == 0) first = found;
  }
  return first;
}

std::vector<ColumnForm> Table::input_forms(std::span<const std::size_t> columns) const {
  std::vector<ColumnForm> forms(columns.size());
  for (std::size_t i = 0; i < columns.size(); ++i)
    if (const auto first = first_compact_date(columns[i]))
      forms[i] = {.kind = ColumnForm::Kind::time, .epoch = first->day};
    else
      forms[i].order = date_order(columns[i]);
  return forms;
}

DateOrder Table::date_order(std::size_t column) const {
  if (rules_.dates != DateOrder::unknown) return rules_.dates;
  const CellParser parser(format_, rules_);
  OrderOfDates order;
  Cells cells;
  for (std::int64_t row = 0; row < rows() && order.open(); ++row) {
    poll_row(row);
    format_.split(text(row), 0, cells);
    const std::string_view cell = trim(cells.text[column]);
    if (!parser.is_missing(cell)) order.add(cell);
  }
  return order.found();
}

NumberColumn Table::joined_times(std::span<const std::size_t> columns, const ColumnForm& form) const {
  CellParser parser(format_, rules_);
  parser.set_form(columns[0], form);
  NumberColumn joined;
  Cells cells;
  for (std::int64_t row = 0; row < rows(); ++row) {
    poll_row(row);
    format_.split(text(row), 0, cells);
    std::vector<std::string_view> parts;
    for (const std::size_t c : columns) parts.push_back(trim(cells.text[c]));
    joined.values.push_back(parser.required(joined_time(parts), columns[0], line(row)));
    if (parser.form(columns[0]).kind != ColumnForm::Kind::time)
      fail("[{}:{}] the columns of --date hold {}, expected year, month and day, or a date and a time of day",
           format_.name(), line(row), in_quotes(joined_time(parts)));
  }
  joined.form = parser.form(columns[0]);
  return joined;
}

std::vector<NumberColumn> Table::numbers(std::span<const std::size_t> columns, std::span<const ColumnForm> forms,
                                         std::span<const std::size_t> required) {
  CellParser parser(format_, rules_);
  std::vector<NumberColumn> all(columns.size());
  std::vector<bool> whole(format_.columns());
  for (const std::size_t column : required) whole[column] = true;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (i < forms.size()) parser.set_form(columns[i], forms[i]);
    all[i].values.reserve(static_cast<std::size_t>(rows()));
  }
  Cells cells;
  for (std::int64_t row = 0; row < rows(); ++row) {
    poll_row(row);
    format_.split(text(row), 0, cells);
    for (std::size_t i = 0; i < columns.size(); ++i) {
      const std::string_view cell = cells.text[columns[i]];
      all[i].values.push_back(whole[columns[i]] ? parser.required(cell, columns[i], line(row))
                                                : parser.optional(cell, columns[i], line(row)));
    }
  }
  for (std::size_t i = 0; i < columns.size(); ++i) all[i].form = parser.form(columns[i]);
  decimal_sign_ = parser.decimal_sign();
  return all;
}

Table::Labels Table::labels(std::size_t column, std::string_view expected) const {
  Labels found;
  found.of_rows.reserve(static_cast<std::size_t>(rows()));
  std::unordered_map<std::string, std::uint32_t> known;
  Cells cells;
  for (std::int64_t row = 0; row < rows(); ++row) {
    poll_row(row);
    format_.split(text(row), 0, cells);
    const std::string_view cell = trim(cells.text[column]);
    if (is_missing_name(cell))
      fail("[{}:{}] column {} is empty, expected {}", format_.name(), line(row), format_.title(column), expected);
    const auto [at, is_new] = known.try_emplace(std::string(cell), static_cast<std::uint32_t>(found.names.size()));
    if (is_new) found.names.emplace_back(cell);
    found.of_rows.push_back(at->second);
  }
  return found;
}

}  // namespace npzoo
