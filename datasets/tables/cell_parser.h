#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "npzoo/datasets/tables/date_notations.h"
#include "npzoo/datasets/tables/date_parts.h"
#include "npzoo/datasets/tables/date_time.h"
#include "npzoo/datasets/tables/table_format.h"

namespace npzoo {

/// Blank, `-`, `?`, NA, N/A, #N/A, NaN, None and null, in small or capital letters.
bool is_missing(std::string_view cell);
/// True for missing values in a column of names: None and `?` may be names.
bool is_missing_name(std::string_view cell);
/// True for a text that means a date or a time of day, in whatever notation: 13/06/2018, 2006-Q1, 1:00 PM, Jan 2020.
bool looks_like_date(std::string_view cell);

/// Meaning of the numbers of a column. Its first cell that is not missing decides, unless all cells together do.
struct ColumnForm {
  enum class Kind : std::uint8_t { unknown, number, time };

  Kind kind = Kind::unknown;
  bool zoned = false;                    // of times: moments, and not the clock on the wall
  std::int64_t epoch = 0;                // of times: they are days since the midnight that this day begins with
  DateOrder order = DateOrder::unknown;  // in which the column writes dates of three numbers
  std::uint8_t shape = 0;                // of dates that are digits alone (see NumberDate)
  bool clock = false;                    // of times: times of day or since a start, without a date
  DateParts parts{};                     // of times that several columns are together

  /// A value of the column as text.
  std::string text(double value) const;
};

/// The rules that a caller gives for reading cells.
struct CellRules {
  DateOrder dates = DateOrder::unknown;  // of dates of three numbers, which may then have years of two digits
  std::vector<std::string> missing{};    // texts, and numbers by their value, that stand for a missing value
  char decimal = '\0';                   // the decimal sign, '.' or ','; zero: the numbers decide

  bool any() const { return dates != DateOrder::unknown || !missing.empty() || decimal != '\0'; }
};

/// Makes numbers of a table's cells: decimal ones, and dates and times, which become days (see date_notations.h). In a
/// column of dates YYYYMMDD is one as well. Unless set_decimal says it, the decimal sign is a point or, where the
/// separator is none, a comma: the first number with one of them decides for the table. Digits may stand in groups of
/// three if the decimal sign is certain: 1,234.5 and 1,234,567, and 1,234 behind a number with a point. Throws Error,
/// naming the line and the column, for cells that are no such number, and where a column has times with a zone and
/// without.
class CellParser {
 public:
  explicit CellParser(const TableFormat& format, const CellRules& rules = {});

  /// As the function of this name, or one of the rules' texts and numbers.
  bool is_missing(std::string_view cell) const;

  /// NaN if it is missing.
  double optional(std::string_view cell, std::size_t column, std::int64_t line);
  double required(std::string_view cell, std::size_t column, std::int64_t line);
  /// Returns the kind of a cell that is not missing, by itself; unknown for any other text.
  ColumnForm::Kind kind_of(std::string_view cell);

  const ColumnForm& form(std::size_t column) const { return forms_[column]; }
  const std::vector<ColumnForm>& forms() const { return forms_; }
  /// Reads the cells of a column without their unit (see number_with_unit).
  void leave_out_unit(std::size_t column) { has_unit_[column] = true; }
  /// Goes on with what another table, or another column of it, has.
  void set_form(std::size_t column, const ColumnForm& form) { forms_[column] = form; }
  char decimal_sign() const { return decimal_.sign == '\0' ? '.' : decimal_.sign; }

  /// The decimal sign as far as numbers have shown it.
  struct Decimal {
    char sign = '\0';       // zero: not known yet
    bool certain = false;   // a number has shown it
    bool doubtful = false;  // 1.234 may be 1234
  };
  const Decimal& decimal() const { return decimal_; }
  /// Goes on with what all numbers of the table show.
  void set_decimal(const Decimal& decimal) { decimal_ = decimal; }

 private:
  struct Place {
    std::string_view cell;
    std::size_t column;
    std::int64_t line;
  };
  bool plain_number(std::string_view cell, double& value);
  std::optional<double> decimal_number(std::string_view cell);
  bool is_doubtful(std::string_view cell) const;
  double number(const Place& given);
  [[noreturn]] void refuse_number(const Place& at) const;
  std::optional<DateTime> date(std::string_view cell, DateOrder order) const;
  double time(const DateTime& found, const Place& at);
  [[noreturn]] void refuse(const Place& at, std::string_view expected) const;

  const TableFormat* format_;
  CellRules rules_;
  std::vector<double> missing_numbers_;
  Decimal decimal_;
  std::vector<ColumnForm> forms_;
  std::vector<bool> has_unit_;  // of each column
};

}  // namespace npzoo
