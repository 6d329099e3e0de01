#include "npzoo/datasets/tables/cell_parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <system_error>

#include "npzoo/datasets/tables/calendar_codes.h"
#include "npzoo/datasets/tables/clock_text.h"
#include "npzoo/datasets/tables/date_codes.h"
#include "npzoo/datasets/tables/degree_text.h"
#include "npzoo/datasets/tables/flag_text.h"
#include "npzoo/datasets/tables/month_names.h"
#include "npzoo/datasets/tables/number_text.h"
#include "npzoo/datasets/tables/text_parts.h"
#include "npzoo/engine/error.h"
#include "npzoo/engine/io/parse_number.h"
#include "npzoo/engine/io/text.h"

namespace npzoo {

namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

std::from_chars_result parse(std::string_view text, double& value) {
  if (text.size() > 1 && text[0] == '+' && text[1] != '-') text.remove_prefix(1);  // parse_number takes no plus sign
  return parse_number(text, value);
}

bool equals_ignoring_case(std::string_view text, std::string_view small) {
  return std::ranges::equal(text, small,
                            [](char a, char b) { return (a >= 'A' && a <= 'Z' ? a - 'A' + 'a' : a) == b; });
}

/// Whether digits may stand in groups of three between points or commas: 1,234,567, 1.234,5 and 1,234.
bool may_have_thousands(std::string_view text) {
  const DecimalEvidence shown = decimal_evidence(text);
  if (shown == DecimalEvidence::point_or_groups || shown == DecimalEvidence::comma_or_groups) return true;
  return shown != DecimalEvidence::no_number && std::ranges::count(text, '.') + std::ranges::count(text, ',') > 1;
}

/// Whether one of its words names a month.
bool names_month(std::string_view text) {
  for (std::size_t begin = 0, end = 0; begin < text.size(); begin = end + 1) {
    end = begin;
    while (end < text.size() && is_letter(text[end])) ++end;
    if (month_of(text.substr(begin, end - begin)) > 0) return true;
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
  return is_missing_name(cell) || cell == "?" || cell == "." || equals_ignoring_case(cell, "none") ||
         equals_ignoring_case(cell, "#n/a");
}

bool is_missing_name(std::string_view cell) {
  constexpr std::array kWords = {"na", "n/a", "nan", "null"};
  if (cell.empty() || cell == "-") return true;
  return cell.size() <= 4 && std::ranges::any_of(kWords, [&](const char* w) { return equals_ignoring_case(cell, w); });
}

std::string ColumnForm::text(double value) const {
  if (kind == Kind::time && clock) return format_elapsed(value);
  return kind == Kind::time ? format_date_time(epoch, value, zoned) : fmt::format("{}", value);
}

CellParser::CellParser(const TableFormat& format, const CellRules& rules)
    : format_(&format),
      rules_(rules),
      decimal_{.sign = rules.decimal != '\0'       ? rules.decimal
                       : format.separator() == ',' ? '.'
                                                   : '\0',
               .certain = rules.decimal != '\0'},
      forms_(format.columns()),
      has_unit_(format.columns()) {
  for (const std::string& text : rules.missing) {
    double value = 0;
    if (parse(text, value).ptr == text.data() + text.size() && std::isfinite(value)) missing_numbers_.push_back(value);
  }
}

bool CellParser::is_missing(std::string_view cell) const {
  if (npzoo::is_missing(cell)) return true;
  if (rules_.missing.empty()) return false;
  if (std::ranges::find(rules_.missing, cell) != rules_.missing.end()) return true;
  if (missing_numbers_.empty()) return false;
  const auto value = parse_number(cell, decimal_sign(), false);
  return value && std::ranges::find(missing_numbers_, *value) != missing_numbers_.end();
}

std::optional<DateTime> CellParser::date(std::string_view cell, DateOrder order) const {
  if (const auto found = parse_date_time(cell)) return found;
  const bool known = rules_.dates != DateOrder::unknown;
  // A column of 01.11.23 has an order only if all its cells show it.
  return parse_date_notation(cell, known ? rules_.dates : order, known || cell.find('.') != std::string_view::npos);
}

void CellParser::refuse(const Place& at, std::string_view expected) const {
  const std::string encoding = is_utf8(at.cell) ? ""
                                                : fmt::format("; it is not UTF-8: iconv -f latin1 -t utf8 {} > NEW.csv",
                                                              flag_value(format_->name()));
  fail("[{}:{}] column {} holds {}, expected {}{}", format_->name(), at.line, format_->title(at.column),
       in_quotes(at.cell), expected, encoding);
}

/// The common case: a number with a point or without, in a column of numbers.
bool CellParser::plain_number(std::string_view cell, double& value) {
  if (decimal_.sign == ',') return false;
  const auto [end, error] = parse(cell, value);
  if (error != std::errc() || end != cell.data() + cell.size() || !std::isfinite(value)) return false;
  if (decimal_.certain || cell.find('.') == std::string_view::npos) return true;
  if (is_doubtful(cell)) return false;
  decimal_ = {'.', true, decimal_.doubtful};
  return true;
}

/// True for 1.234 where nothing in the table says whether the point is the decimal sign.
bool CellParser::is_doubtful(std::string_view cell) const {
  if (!decimal_.doubtful) return false;
  const DecimalEvidence shown = decimal_evidence(cell);
  return shown == DecimalEvidence::point_or_groups || shown == DecimalEvidence::comma_or_groups;
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

/// A number with a decimal comma, with digits in groups of three, or of degrees; none if the decimal sign is in doubt
/// or another than that of the table.
std::optional<double> CellParser::decimal_number(std::string_view cell) {
  if (const auto degrees = parse_degrees(cell)) return degrees;
  const DecimalEvidence shown = decimal_evidence(cell);
  const bool point = shown == DecimalEvidence::point, comma = shown == DecimalEvidence::comma;
  const bool point_groups = shown == DecimalEvidence::comma_or_groups,
             comma_groups = shown == DecimalEvidence::point_or_groups;
  if (shown == DecimalEvidence::no_number || is_doubtful(cell)) return {};
  const char unknown = comma || point_groups ? ',' : '.';
  const char sign = decimal_.sign != '\0' ? decimal_.sign : unknown;
  if ((point && sign != '.') || (comma && sign != ',')) return {};
  const bool groups = decimal_.certain || point || comma;
  if (!groups && ((sign == '.' && point_groups) || (sign == ',' && comma_groups))) return {};
  const auto value = parse_number(cell, sign, groups);
  const bool shows = value && shown != DecimalEvidence::whole && !decimal_.certain;
  if (shows) decimal_ = {sign, true, decimal_.doubtful};
  return value;
}

ColumnForm::Kind CellParser::kind_of(std::string_view cell) {
  double value;
  if (plain_number(cell, value)) return ColumnForm::Kind::number;
  if (date(cell, DateOrder::unknown)) return ColumnForm::Kind::time;
  return decimal_number(cell) || is_doubtful(cell) ? ColumnForm::Kind::number : ColumnForm::Kind::unknown;
}

double CellParser::number(const Place& given) {
  Place at = given;
  ColumnForm& form = forms_[at.column];
  const bool has_unit = has_unit_[at.column] && form.kind != ColumnForm::Kind::time;
  if (const auto found = has_unit ? number_with_unit(at.cell) : std::nullopt) at.cell = found->number;
  if (form.kind == ColumnForm::Kind::time && form.clock) {
    const auto found = parse_elapsed(at.cell);
    if (!found) refuse(at, "a time of day, like the others of the column");
    constexpr double kDay = 86'400e9;
    return static_cast<double>(*found) / kDay;
  }
  double value = 0;
  if (form.kind != ColumnForm::Kind::time) {
    bool known = plain_number(at.cell, value);
    if (const auto found = known ? std::nullopt : decimal_number(at.cell)) {
      value = *found;
      known = true;
    }
    if (known) form.kind = ColumnForm::Kind::number;
    if (known) return value;
  }
  if (const auto found = parse_calendar_code(at.cell, form.shape)) return time(*found, at);
  if (const auto found = date(at.cell, form.order)) return time(*found, at);
  if (form.kind == ColumnForm::Kind::time) {
    const auto found = parse_number_date(at.cell);
    constexpr std::uint8_t kUsualShape = 8;
    if (found && (found->shape == kUsualShape || found->shape == form.shape)) return time(found->time, at);
    refuse(at, "a date, like the others of the column");
  }
  refuse_number(at);
}

void CellParser::refuse_number(const Place& at) const {
  const DecimalEvidence shown = decimal_evidence(at.cell);
  if (may_have_thousands(at.cell))
    refuse(at, "a number without thousands separators, or --decimal . or , to name the decimal sign");
  if (decimal_.sign == ',' && shown == DecimalEvidence::point)
    refuse(at, "a decimal comma, like the other numbers of the table");
  if (decimal_.sign == '.' && shown == DecimalEvidence::comma && format_->separator() != ',')
    refuse(at, "a decimal point, like the other numbers of the table");
  if (needs_order(at.cell))
    refuse(at,
           "a number, or a date as ISO 8601 writes it: 2020-02-01; predict reads other orders with --dates dmy, mdy or "
           "ymd");
  if (looks_like_date(at.cell)) refuse(at, "a number, or a date as ISO 8601 writes it: 2020-02-01 or 2020-02-01T12:30");
  if (const std::string advice = advice_on_signs(at.cell); !advice.empty()) refuse(at, "a number: " + advice);
  double value = 0;
  const auto [end, error] = parse(at.cell, value);
  if (end != at.cell.data() + at.cell.size()) refuse(at, "a number");
  if (error != std::errc()) refuse(at, "a number that a double can hold");
  refuse(at, "a finite number");
}

double CellParser::time(const DateTime& found, const Place& at) {
  ColumnForm& form = forms_[at.column];
  if (form.kind == ColumnForm::Kind::number) refuse(at, "a number, like the others of the column");
  if (form.kind == ColumnForm::Kind::unknown) {
    form.kind = ColumnForm::Kind::time;
    form.zoned = found.zoned;
    form.epoch = found.day;
  }
  if (form.zoned != found.zoned)
    refuse(at, form.zoned ? "a time with a zone (Z or +01:00), like the others of the column"
                          : "a time without a zone, like the others of the column");
  return days_since(form.epoch, found);
}

}  // namespace npzoo
