#include "npzoo/datasets/tables/cell_parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <system_error>

#include "npzoo/engine/error.h"
#include "npzoo/engine/io/text.h"

namespace npzoo {

namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

std::from_chars_result parse(std::string_view text, double& value) {
  if (text.size() > 1 && text[0] == '+' && text[1] != '-') text.remove_prefix(1);  // std::from_chars takes no plus sign
  return std::from_chars(text.data(), text.data() + text.size(), value);
}

bool equals_ignoring_case(std::string_view text, std::string_view small) {
  return std::ranges::equal(text, small,
                            [](char a, char b) { return (a >= 'A' && a <= 'Z' ? a - 'A' + 'a' : a) == b; });
}

/// Digits in groups of three, such as 1,234,567 and 1.234,5.
bool has_thousands(std::string_view text) {
  const auto digits = [&text](std::size_t most) {
    const std::size_t count = std::min(text.find_first_not_of("0123456789"), std::min(text.size(), most));
    text.remove_prefix(count);
    return count;
  };
  if (!text.empty() && (text.front() == '-' || text.front() == '+')) text.remove_prefix(1);
  if (digits(3) == 0 || text.empty() || (text.front() != ',' && text.front() != '.')) return false;
  const char separator = text.front();
  while (!text.empty() && text.front() == separator) {
    text.remove_prefix(1);
    if (digits(3) != 3) return false;
  }
  if (text.empty()) return true;
  if (text.front() != ',' && text.front() != '.') return false;
  text.remove_prefix(1);
  digits(text.size());
  return text.empty();
}

/// Whether a month's name stands in it, or its first three letters do, with nothing but letters behind them.
bool names_month(std::string_view text) {
  constexpr std::array kMonths = {"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"};
  constexpr std::size_t kLetters = 3;
  const auto is_letter = [](char c) { return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z'); };
  for (std::size_t i = 0; i + kLetters <= text.size(); ++i) {
    if (i > 0 && is_letter(text[i - 1])) continue;
    if (std::ranges::any_of(kMonths, [&](const char* m) { return equals_ignoring_case(text.substr(i, kLetters), m); }))
      return true;
  }
  return false;
}

/// Three numbers between separators, of which the first is no year.
bool needs_order(std::string_view cell) {
  return std::ranges::any_of(std::array{DateOrder::dmy, DateOrder::mdy, DateOrder::ymd},
                             [&](DateOrder order) { return parse_date_notation(cell, order, true).has_value(); });
}

}  // namespace

bool looks_like_date(std::string_view text) {
  constexpr std::size_t kShortest = 7;
  if (text.size() < 4 || !std::ranges::any_of(text, is_digit)) return false;
  if (names_month(text)) return text.find_first_of(" -/.,") != std::string_view::npos;
  if (!is_digit(text.front())) return false;
  const std::size_t colon = text.find(':');
  if (colon != std::string_view::npos && colon <= 13 && colon + 1 < text.size() && is_digit(text[colon + 1]))
    return true;
  if (text.size() < kShortest) return false;
  const bool digits = text.find_first_not_of("0123456789./- ") == std::string_view::npos;
  for (const char c : {'/', '.', '-'})
    if (digits && std::ranges::count(text, c) == 2) return true;
  // 2006-Q1, 2020-W01, 2020-01-01T12 and the like
  return text[4] == '-' && std::ranges::all_of(text.substr(0, 4), is_digit) && text.find_first_of("QWTZ") <= 10;
}

bool is_missing(std::string_view cell) {
  return is_missing_name(cell) || cell == "?" || equals_ignoring_case(cell, "none") ||
         equals_ignoring_case(cell, "#n/a");
}

bool is_missing_name(std::string_view cell) {
  constexpr std::array kWords = {"na", "n/a", "nan", "null"};
  if (cell.empty() || cell == "-") return true;
  return cell.size() <= 4 && std::ranges::any_of(kWords, [&](const char* w) { return equals_ignoring_case(cell, w); });
}

std::string ColumnForm::text(double value) const {
  return kind == Kind::time ? format_date_time(epoch, value, zoned) : fmt::format("{}", value);
}

CellParser::CellParser(const TableFormat& format, const CellRules& rules)
    : format_(&format),
      rules_(rules),
      decimal_{.sign = rules.decimal != '\0'       ? rules.decimal
                       : format.separator() == ',' ? '.'
                                                   : '\0',
               .certain = rules.decimal != '\0'},
      forms_(format.columns()) {
  for (const std::string& text : rules.missing) {
    double value = 0;
    if (parse(text, value).ptr == text.data() + text.size() && std::isfinite(value)) missing_numbers_.push_back(value);
  }
}

bool CellParser::is_missing(std::string_view cell) const {
  if (npzoo::is_missing(cell)) return true;
  if (rules_.missing.empty()) return false;
  if (std::ranges::find(rules_.missing, cell) != rules_.missing.end()) return true;
  double value = 0;
  return !missing_numbers_.empty() && parse(cell, value).ptr == cell.data() + cell.size() &&
         std::ranges::find(missing_numbers_, value) != missing_numbers_.end();
}

std::optional<DateTime> CellParser::date(std::string_view cell, DateOrder order) const {
  if (const auto found = parse_date_time(cell)) return found;
  const bool known = rules_.dates != DateOrder::unknown;
  return parse_date_notation(cell, known ? rules_.dates : order, known);
}

void CellParser::refuse(const Place& at, std::string_view expected) const {
  fail("[{}:{}] column {} holds {}, expected {}", format_->name(), at.line, format_->title(at.column),
       in_quotes(at.cell), expected);
}

/// The common case: a number with a point or without, in a column of numbers.
bool CellParser::plain_number(std::string_view cell, double& value) {
  if (decimal_.sign == ',') return false;
  const auto [end, error] = parse(cell, value);
  if (error != std::errc() || end != cell.data() + cell.size() || !std::isfinite(value)) return false;
  if (!decimal_.certain && cell.find('.') != std::string_view::npos) decimal_ = {'.', true};
  return true;
}

double CellParser::optional(std::string_view cell, std::size_t column, std::int64_t line) {
  double value;
  if (rules_.missing.empty() && forms_[column].kind == ColumnForm::Kind::number && plain_number(cell, value)) [[likely]]
    return value;
  cell = trim(cell);
  return is_missing(cell) ? kNaN : number({cell, column, line});
}

double CellParser::required(std::string_view cell, std::size_t column, std::int64_t line) {
  double value;
  if (rules_.missing.empty() && forms_[column].kind == ColumnForm::Kind::number && plain_number(cell, value)) [[likely]]
    return value;
  const Place at{trim(cell), column, line};
  const bool times = forms_[column].kind == ColumnForm::Kind::time;
  if (at.cell.empty())
    fail("[{}:{}] column {} is empty, expected a {}", format_->name(), line, format_->title(column),
         times ? "date" : "number");
  if (is_missing(at.cell) && !equals_ignoring_case(at.cell, "nan")) refuse(at, times ? "a date" : "a number");
  return number(at);
}

/// Reads a number with a decimal comma; none if the cell is not one.
std::optional<double> CellParser::with_comma(std::string_view cell) const {
  std::array<char, 400> text;
  double value = 0;
  if (cell.size() > text.size() || cell.find('.') != std::string_view::npos || std::ranges::count(cell, ',') > 1)
    return {};
  const auto end = std::ranges::replace_copy(cell, text.begin(), ',', '.').out;
  const std::string_view pointed(text.data(), static_cast<std::size_t>(end - text.begin()));
  const auto result = parse(pointed, value);
  const bool whole = result.ec == std::errc() && result.ptr == pointed.data() + pointed.size() && std::isfinite(value);
  return whole ? std::optional(value) : std::nullopt;
}

/// A number whose digits stand in groups of three; none if the decimal sign is in doubt or another than that of the
/// table.
std::optional<double> CellParser::grouped(std::string_view cell) {
  if (!has_thousands(cell)) return {};
  const char separator = cell[cell.find_first_of(",.")], last = cell[cell.find_last_of(",.")];
  const bool several = std::ranges::count(cell, separator) > 1;
  const char decimal = separator == ',' ? '.' : ',';
  if (decimal_.sign != '\0' && decimal_.sign != decimal) return {};
  if (last == separator && !several && !decimal_.certain) return {};
  std::string plain(cell);
  std::erase(plain, separator);
  std::ranges::replace(plain, ',', '.');
  double value = 0;
  if (parse(plain, value).ptr != plain.data() + plain.size() || !std::isfinite(value)) return {};
  decimal_ = {decimal, true};
  return value;
}

ColumnForm::Kind CellParser::kind_of(std::string_view cell) {
  double value;
  const bool comma_possible = format_->separator() != ',' || rules_.decimal == ',';
  if (plain_number(cell, value)) return ColumnForm::Kind::number;
  if (comma_possible && with_comma(cell)) {
    if (cell.find(',') != std::string_view::npos && decimal_.sign != '.') decimal_ = {',', true};
    return ColumnForm::Kind::number;
  }
  if (date(cell, DateOrder::unknown)) return ColumnForm::Kind::time;
  return grouped(cell) ? ColumnForm::Kind::number : ColumnForm::Kind::unknown;
}

double CellParser::number(const Place& at) {
  ColumnForm& form = forms_[at.column];
  if (const auto found = date(at.cell, form.order)) return time(*found, at);
  if (form.kind == ColumnForm::Kind::time) {
    if (const auto found = parse_compact_date(at.cell)) return time(*found, at);
    refuse(at, "a date, like the others of the column");
  }
  double value = 0;
  bool known = plain_number(at.cell, value);
  if (!known && (format_->separator() != ',' || rules_.decimal == ',')) {
    const auto comma = with_comma(at.cell);
    const bool has_comma = at.cell.find(',') != std::string_view::npos;
    if (comma && has_comma && decimal_.sign == '.') refuse(at, "a decimal point, like the other numbers of the table");
    if (comma) {
      if (has_comma) decimal_ = {',', true};
      value = *comma;
      known = true;
    }
  }
  if (const auto found = known ? std::nullopt : grouped(at.cell)) {
    value = *found;
    known = true;
  }
  if (known) {
    form.kind = ColumnForm::Kind::number;
    return value;
  }
  if (has_thousands(at.cell))
    refuse(at, "a number without thousands separators, or --decimal . or , to name the decimal sign");
  if (decimal_.sign == ',' && at.cell.find('.') != std::string_view::npos &&
      parse(at.cell, value).ptr == at.cell.data() + at.cell.size())
    refuse(at, "a decimal comma, like the other numbers of the table");
  if (needs_order(at.cell))
    refuse(at,
           "a number, or a date as ISO 8601 writes it: 2020-02-01; predict reads other orders with --dates dmy, mdy or "
           "ymd");
  if (looks_like_date(at.cell)) refuse(at, "a number, or a date as ISO 8601 writes it: 2020-02-01 or 2020-02-01T12:30");
  const auto [end, error] = parse(at.cell, value);
  if (end != at.cell.data() + at.cell.size()) refuse(at, "a number");
  if (error != std::errc()) refuse(at, "a number that a double can hold");
  refuse(at, "a finite number");
}

double CellParser::time(const DateTime& found, const Place& at) {
  ColumnForm& form = forms_[at.column];
  if (form.kind == ColumnForm::Kind::number) refuse(at, "a number, like the others of the column");
  if (form.kind == ColumnForm::Kind::unknown) form = {ColumnForm::Kind::time, found.zoned, found.day, form.order};
  if (form.zoned != found.zoned)
    refuse(at, form.zoned ? "a time with a zone (Z or +01:00), like the others of the column"
                          : "a time without a zone, like the others of the column");
  return days_since(form.epoch, found);
}

}  // namespace npzoo
