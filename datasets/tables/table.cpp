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

/// A cell between quotes, as a file would write it.
std::string quoted(const std::string& cell) {
  std::string text = "\"";
  for (const char c : cell) text += c == '"' ? "\"\"" : std::string(1, c);
  return text + '"';
}

/// The evidence that columns have for the decimal sign.
class DecimalVotes {
 public:
  explicit DecimalVotes(char separator) : separator_(separator) {}

  void add(const ColumnScan& scan) {
    pointed_days_ = pointed_days_ || scan.pointed_days();
    if (scan.date_shape() != 0) return;
    point_ = point_ || scan.numbers().point();
    comma_ = comma_ || scan.numbers().comma();
    groups_ = groups_ || scan.numbers().may_have_groups();
    doubtful_ = doubtful_ || scan.numbers().doubtful(separator_);
  }

  /// The sign of these columns: their own, else that of `all` columns.
  CellParser::Decimal decide(const DecimalVotes& all) const {
    for (const DecimalVotes* votes : {this, &all})
      if (votes->point_ != votes->comma_) return {votes->point_ ? '.' : ',', true};
    return {separator_ == ',' ? '.' : '\0', false,
            all.point_ && all.comma_ ? groups_ : doubtful_ || all.may_be_continental(*this)};
  }

 private:
  /// 10.064 is 10064 to those who write 31.12.2024 and put semicolons between columns.
  bool may_be_continental(const DecimalVotes& own) const { return separator_ == ';' && pointed_days_ && own.groups_; }

  char separator_;
  bool pointed_days_ = false;  // 31.12.2024
  bool point_ = false, comma_ = false, groups_ = false, doubtful_ = false;
};

}  // namespace

Table Table::read(const std::filesystem::path& path, const Options& options) {
  return with_errors([&] {
    TableReader reader(path, options.skip_rows);
    Table table(reader.format());
    table.rules_ = options.cells;
    table.first_line_ = reader.first_line();
    table.unit_lines_ = reader.unit_lines();
    while (reader.next()) {
      reader.cells();  // as many as there are columns
      if (reader.passed() > 0) table.passed_.push_back({reader.line() - reader.passed(), reader.passed()});
      table.breaks_.insert(table.breaks_.end(), static_cast<std::size_t>(reader.passed()), table.rows() - 1);
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

Table Table::of_cells(const std::string& name, std::span<const std::string> header,
                      std::span<const std::vector<std::string>> columns, const CellRules& rules) {
  check(!columns.empty(), "[{}] has no columns", name);
  const auto cell = [&](std::size_t column, std::int64_t row) {
    return columns[column][static_cast<std::size_t>(row)];
  };
  return of_cells(TableFormat(name, 0, {header.begin(), header.end()}), std::ssize(columns[0]), cell, rules);
}

Table Table::of_cells(const TableFormat& format, std::int64_t rows,
                      const std::function<std::string(std::size_t column, std::int64_t row)>& cell,
                      const CellRules& rules) {
  Table table(format);
  table.rules_ = rules;
  table.first_line_ = format.header_line() + 1;
  for (std::int64_t row = 0; row < rows; ++row) {
    poll_row(row);
    for (std::size_t c = 0; c < format.columns(); ++c) {
      const std::string text = cell(c, row);
      if (c > 0) table.text_ += ',';
      table.text_ += text.find_first_of(",\"\r\n") == std::string::npos ? text : quoted(text);
    }
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

const std::vector<ColumnScan>& Table::scans() const {
  if (!scans_.empty()) return scans_;
  scans_.resize(format_.columns());
  const CellParser parser(format_, rules_);
  Cells cells;
  for (std::int64_t row = 0; row < rows(); ++row) {
    poll_row(row);
    format_.split(text(row), 0, cells);
    for (std::size_t c = 0; c < scans_.size(); ++c)
      if (const std::string_view cell = trim(cells.text[c]); !parser.is_missing(cell)) scans_[c].add(cell);
  }
  return scans_;
}

CellParser::Decimal Table::decimal_of(std::span<const std::size_t> columns) const {
  if (rules_.decimal != '\0') return {rules_.decimal, true};
  DecimalVotes own(format_.separator()), all = own;
  for (const ColumnScan& scan : scans()) all.add(scan);
  for (const std::size_t c : columns) own.add(scans()[c]);
  return own.decide(all);
}

const std::vector<ColumnSummary>& Table::summaries() {
  using Kind = ColumnSummary::Kind;
  std::vector<ColumnSummary>& all = summaries_;
  if (!all.empty()) return all;
  all.resize(format_.columns());
  CellParser parser(format_, rules_);
  std::vector<CellParser::Decimal> decimals(all.size(), parser.decimal());
  const DecimalVotes none(format_.separator());
  DecimalVotes votes = none;
  for (const ColumnScan& scan : scans()) votes.add(scan);
  for (std::size_t c = 0; c < all.size(); ++c) {
    all[c].missing = rows() - scans()[c].cells();
    DecimalVotes own = none;
    own.add(scans()[c]);
    if (rules_.decimal == '\0') decimals[c] = own.decide(votes);
  }
  Cells cells;
  for (std::int64_t row = 0; row < rows(); ++row) {
    poll_row(row);
    format_.split(text(row), 0, cells);
    for (std::size_t c = 0; c < all.size(); ++c) {
      std::string_view cell = trim(cells.text[c]);
      if (all[c].kind == Kind::text || parser.is_missing(cell)) continue;
      if (const auto found = scans()[c].has_unit() ? number_with_unit(cell) : std::nullopt) cell = found->number;
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
  find_dates(all);
  return all;
}

void Table::take_as_text(std::size_t column) {
  static_cast<void>(summaries());
  summaries_[column].kind = ColumnSummary::Kind::text;
}

std::vector<NumberColumn> Table::numbers(std::span<const std::size_t> columns, std::span<const ColumnForm> forms,
                                         std::span<const std::size_t> required) {
  CellParser parser(format_, rules_);
  parser.set_decimal(decimal_of(columns));
  std::vector<NumberColumn> all(columns.size());
  std::vector<bool> whole(format_.columns());
  for (const std::size_t column : required) whole[column] = true;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (i < forms.size()) parser.set_form(columns[i], forms[i]);
    if (scans()[columns[i]].has_unit()) parser.leave_out_unit(columns[i]);
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

Table::Labels Table::words(std::size_t column) const {
  Labels found;
  found.of_rows.reserve(static_cast<std::size_t>(rows()));
  std::unordered_map<std::string, std::uint32_t> known;
  Cells cells;
  for (std::int64_t row = 0; row < rows(); ++row) {
    poll_row(row);
    format_.split(text(row), 0, cells);
    const std::string_view cell = trim(cells.text[column]);
    if (is_missing_name(cell)) {
      found.of_rows.push_back(kNoWord);
      continue;
    }
    const auto [at, is_new] = known.try_emplace(std::string(cell), static_cast<std::uint32_t>(found.names.size()));
    if (is_new) found.names.emplace_back(cell);
    found.of_rows.push_back(at->second);
  }
  return found;
}

Table::Labels Table::labels(std::size_t column, std::string_view expected) const {
  Labels found = words(column);
  const auto none = std::ranges::find(found.of_rows, kNoWord);
  if (none != found.of_rows.end())
    fail("[{}:{}] column {} is empty, expected {}", format_.name(), line(none - found.of_rows.begin()),
         format_.title(column), expected);
  return found;
}

Table::Labels Table::labels(std::span<const std::size_t> columns) const {
  Labels all = labels(columns[0]);
  for (const std::size_t column : columns.subspan(1)) {
    const Labels next = labels(column);
    Labels both;
    std::unordered_map<std::uint64_t, std::uint32_t> known;
    for (std::size_t row = 0; row < all.of_rows.size(); ++row) {
      const std::uint64_t key = std::uint64_t{all.of_rows[row]} << 32 | next.of_rows[row];
      const auto [at, is_new] = known.try_emplace(key, static_cast<std::uint32_t>(both.names.size()));
      if (is_new) both.names.push_back(all.names[all.of_rows[row]] + ", " + next.names[next.of_rows[row]]);
      both.of_rows.push_back(at->second);
    }
    all = std::move(both);
  }
  return all;
}

}  // namespace npzoo
