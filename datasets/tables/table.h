#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "npzoo/datasets/tables/cell_parser.h"
#include "npzoo/datasets/tables/column_scan.h"
#include "npzoo/datasets/tables/table_format.h"

namespace npzoo {

/// Summary of all cells of a column.
struct ColumnSummary {
  enum class Kind : std::uint8_t { empty, number, time, text };

  Kind kind = Kind::empty;   // empty: all are missing
  bool clock = false;        // of times: times of day or since a start, without a date
  std::int64_t missing = 0;  // cells
  std::int64_t odd_row = -1;  // of a text: the first row that is not what those before were, numbers or times; −1: none
};

/// A column as numbers; times are days (see ColumnForm).
struct NumberColumn {
  ColumnForm form;
  std::vector<double> values;  // one for each row, NaN if it is missing
};

/// A table as TableReader reads it, held as text: its own size, and 8 bytes for each row. Columns become numbers on
/// first use, 8 bytes for each row.
class Table {
 public:
  struct Options {
    std::function<void(std::int64_t)> progress{};  // called with the rows so far, every few thousand
    std::int64_t skip_rows = 0;                    // lines before the header
    CellRules cells{};
  };

  /// Throws Error as TableReader does, also for rows that have too many or too few cells.
  static Table read(const std::filesystem::path& path, const Options& options);
  static Table read(const std::filesystem::path& path) { return read(path, Options()); }
  /// A table of one column, of cells that come from no file; an empty cell is missing. Messages count rows from 0 on:
  /// `[row:2] column "day" …`.
  static Table of_column(const std::string& name, std::span<const std::string> cells, const CellRules& rules = {});

  /// A table of these columns, with as many cells each; an empty cell is missing. Messages call it `name` and count
  /// rows from 1 on.
  static Table of_cells(const std::string& name, std::span<const std::string> header,
                        std::span<const std::vector<std::string>> columns, const CellRules& rules);
  /// A table of so many rows, of which `cell(column, row)` returns the cells. Messages count rows from the line of the
  /// format on.
  static Table of_cells(const TableFormat& format, std::int64_t rows,
                        const std::function<std::string(std::size_t column, std::int64_t row)>& cell,
                        const CellRules& rules);

  /// A table of these lines, written as the file of `like` is, and called `name` in messages.
  static Table of_lines(const Table& like, const std::string& name, std::string_view header,
                        std::span<const std::string> lines);

  const TableFormat& format() const { return format_; }
  const CellRules& rules() const { return rules_; }
  const std::vector<std::string>& header() const { return format_.header(); }
  std::int64_t rows() const { return std::ssize(begins_) - 1; }
  /// As it stands, without the line's end.
  std::string_view text(std::int64_t row) const;
  /// Returns the line of a row in the file, counted from 1.
  std::int64_t line(std::int64_t row) const;
  /// Lines between rows that are blank or comments.
  struct PassedLines {
    std::int64_t first, count;
  };
  const std::vector<PassedLines>& passed() const { return passed_; }
  /// Returns how many lines of units stand between the names and the first row.
  std::int64_t unit_lines() const { return unit_lines_; }
  /// Returns the decimal sign of the columns read so far.
  char decimal_sign() const { return decimal_sign_; }

  /// Summarises every column. The first call looks at all cells.
  const std::vector<ColumnSummary>& summaries();
  /// The unit that all numbers of a column have in their cells, such as % or $; empty: none.
  std::string unit(std::size_t column) const { return scans()[column].has_unit() ? scans()[column].unit() : ""; }
  /// Takes a column for one of texts, also if all of them are numbers, such as the numbers of houses.
  void take_as_text(std::size_t column);
  /// Returns columns as numbers, in one pass. `forms`, one for each, may fix their kind, such as that of another table;
  /// otherwise the first cell decides. A column in `required` may have no cell missing. Throws Error as CellParser
  /// does.
  std::vector<NumberColumn> numbers(std::span<const std::size_t> columns, std::span<const ColumnForm> forms,
                                    std::span<const std::size_t> required = {});
  /// The forms of input columns that their first cells do not decide: dates where all cells are numbers such as
  /// 20240131 or 202401 (see parse_number_date and CalendarCodes), times where they are times of day; else of unknown
  /// kind, with the order of dates of three numbers if all cells fit only one.
  std::vector<ColumnForm> input_forms(std::span<const std::size_t> columns) const;
  /// Columns such as year, month and day [, hour, minute, second], or a date and a time of day, as one column of times
  /// (see parts_of_date). `form` may be that of another table. Throws Error, naming the line, for a row that is none.
  NumberColumn joined_times(std::span<const std::size_t> columns, const ColumnForm& form = {}) const;
  /// The parts of a date that such columns are; none if they are none together.
  std::optional<DateParts> date_parts(std::span<const std::size_t> columns) const;
  /// Whether the numbers of a column jump as dates do, and cannot be read as such (see CalendarCodes).
  bool has_doubtful_dates(std::size_t column) const { return scans()[column].doubtful_dates(); }
  /// A column as text: for each row the position of its cell among the different ones, which come in the order in which
  /// they appear. Throws Error, naming what was expected, if a cell is missing.
  struct Labels {
    std::vector<std::string> names;
    std::vector<std::uint32_t> of_rows;
  };
  Labels labels(std::size_t column, std::string_view expected = "the name of a group") const;
  /// The same where a row may have none: its number is kNoWord.
  static constexpr std::uint32_t kNoWord = std::numeric_limits<std::uint32_t>::max();
  Labels words(std::size_t column) const;
  /// The same for several columns together: "north, 3".
  Labels labels(std::span<const std::size_t> columns) const;

 private:
  explicit Table(const TableFormat& format) : format_(format) {}
  /// Returns the facts that all cells of each column show. The first call looks at them.
  const std::vector<ColumnScan>& scans() const;
  /// The decimal sign of columns: as their own numbers show it, else as those of the other columns do.
  CellParser::Decimal decimal_of(std::span<const std::size_t> columns) const;
  DateOrder date_order(std::size_t column) const;
  /// Finds columns whose cells are dates only together. Numbers of six or seven digits may be no dates: they are if no
  /// other column has dates.
  void find_dates(std::vector<ColumnSummary>& all) const;
  /// By the first rows; `usual` are those of another table, if they fit.
  std::optional<DateParts> date_parts(std::span<const std::size_t> columns, std::int64_t rows,
                                      const DateParts& usual) const;

  TableFormat format_;
  CellRules rules_;
  std::int64_t first_line_ = 0, unit_lines_ = 0;
  std::string text_;                      // of all rows, one behind the other
  std::vector<std::uint64_t> begins_{0};  // of each row in it, and its end
  std::vector<std::int64_t> breaks_;      // the row of each line break within quotes, the row before passed lines
  std::vector<PassedLines> passed_;
  char decimal_sign_ = '.';
  std::vector<ColumnSummary> summaries_;
  mutable std::vector<ColumnScan> scans_;
};

}  // namespace npzoo
