#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "npzoo/datasets/tables/cell_parser.h"
#include "npzoo/datasets/tables/table_format.h"
#include "npzoo/engine/io/byte_stream.h"

namespace npzoo {

/// Reads a table row by row, as people have them, in memory that does not depend on the file's size.
///
/// Text in UTF-8, or any other that has ASCII in common with it, as it is or compressed by gzip or xz. Lines that begin
/// with `#` may come first and are skipped, and so is a line `sep=;` behind them. The next line names the columns (see
/// TableFormat); every other row has a cell for each. Without any other separator, names and cells may stand between
/// blanks; then rows may have a name in front, as R writes them, whose column is called row. Line ends may be LF, CRLF,
/// or CR if the file has no LF; a byte order mark and blank lines at the end are accepted. Anything else throws an
/// Error that names the file, and the line where there is one.
class TableReader {
 public:
  static constexpr std::size_t kMaxRowBytes = std::size_t{1} << 24;

  /// Opens `path` (`-` is standard input) and reads the header, behind `skip_rows` lines of any other text.
  explicit TableReader(const std::filesystem::path& path, std::int64_t skip_rows = 0);

  const TableFormat& format() const { return *format_; }
  const std::vector<std::string>& header() const { return format_->header(); }

  /// Goes on to the next row; false at the end. Rows are given as soon as they are there.
  bool next();
  /// Returns the text of that row without the end of its line, valid until the next row; `line` is where it begins.
  std::string_view text() const { return text_; }
  std::int64_t line() const { return row_line_; }
  /// Its cells, one for each column; throws Error if there are more or fewer.
  const std::vector<std::string_view>& cells();

 private:
  std::optional<std::string_view> next_line();
  std::string_view header_line(std::int64_t skip_rows);
  bool between_blanks(std::string& header);
  /// True for the line `sep=;` that spreadsheets write before the header; keeps the separator.
  bool names_separator(std::string_view line);
  void find_line_ends();
  std::size_t line_end(std::size_t from, bool quoted);
  std::string_view take(std::size_t end, std::int64_t lines);
  bool refill();
  bool is_blank(std::string_view line) const;
  void expect_blank_rest();

  ByteStream bytes_;
  std::unique_ptr<char[]> buffer_;
  std::size_t capacity_;
  std::string_view pending_;       // the part of buffer_ that is read and not yet given
  char end_ = '\n';                // the last character of lines
  std::int64_t line_ = 0;          // number of the line last returned, from 1
  std::optional<char> separator_;  // named before the header
  std::unique_ptr<const TableFormat> format_;
  std::string_view text_;
  std::int64_t row_line_ = 0;
  Cells cells_;
};

}  // namespace npzoo
