#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "npzoo/datasets/tables/cell_parser.h"
#include "npzoo/datasets/tables/table_format.h"
#include "npzoo/engine/io/byte_stream.h"

namespace npzoo {

/// Reads a table row by row, as people have them, in memory that does not depend on the file's size.
///
/// Text in UTF-8, or any other that has ASCII in common with it, as it is or compressed by gzip or xz. Blank lines and
/// lines that begin with `#` may come first and are skipped, and so is a line `sep=;`. The next line names the columns
/// (see TableFormat), also with line breaks within quotes, unless it has numbers and dates alone and a comment has the
/// names (see names_in_comments); every other row has a cell for each. Without any other separator, names and cells may
/// stand between blanks; then rows may have a name in front, as R writes them, whose column is called row, or a date
/// and a time of day as one cell. Lines of units below the names are skipped (see unit_lines.h). Line ends may be LF,
/// CRLF, CRCRLF, or CR if the file has no LF; a byte order mark, and at the end blank lines and lines of empty cells
/// are accepted. Such lines are skipped between rows as well, unless the table has one column, and so are rows that
/// repeat the names of the columns, and lines that begin with `#` if such lines precede the header. Anything else
/// throws an Error that names the file, and the line where there is one; if the table seems to begin further down, the
/// Error says how to skip lines.
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
  /// Returns the line in which the first row begins.
  std::int64_t first_line() const { return first_line_; }
  /// Returns how many lines of units below the names were skipped.
  std::int64_t unit_lines() const { return unit_lines_; }
  /// Returns how many blank lines and comments stand between that row and the one before.
  std::int64_t passed() const { return passed_; }
  /// Its cells, one for each column; throws Error if there are more or fewer.
  const std::vector<std::string_view>& cells();

 private:
  std::optional<std::string_view> next_line();
  /// Returns the next line, which next_line returns as well; none at the end.
  std::optional<std::string_view> peek();
  /// Returns the next lines, at most `most`, and not more than the buffer has.
  std::vector<std::string_view> peek_rows(std::size_t most);
  void read_format();
  void skip_to_header(std::vector<std::string>& comments);
  std::string take_header();
  void find_separator(std::string& header);
  void check_no_data(std::string_view header);
  bool read_names_in_comments(const std::vector<std::string>& comments);
  bool between_blanks(std::string& header);
  bool next_row();
  void take_row();
  bool is_footer();
  /// Adds to an error of `read` how many lines stand before the table, if they do.
  auto with_hint(const auto& read) const;
  /// True for the line `sep=;` that spreadsheets write before the header; keeps the separator.
  bool names_separator(std::string_view line);
  void find_line_ends();
  std::size_t line_end(std::size_t from, bool quoted);
  std::string_view take(std::size_t end, std::int64_t lines);
  bool refill();
  bool is_blank(std::string_view line) const;

  ByteStream bytes_;
  std::unique_ptr<char[]> buffer_;
  std::size_t capacity_;
  std::string_view pending_;  // the part of buffer_ that is read and not yet given
  char end_ = '\n';           // the last character of lines
  std::int64_t line_ = 0;     // number of the line last returned, from 1
  std::int64_t skipped_ = 0, first_line_ = 0, unit_lines_ = 0;
  std::string head_;               // the first bytes of the file
  std::string blanks_ = " \t";     // of lines without a cell
  std::optional<char> separator_;  // named before the header
  std::optional<std::size_t> two_words_;
  std::unique_ptr<const TableFormat> format_;
  bool has_comments_ = false;  // before the header
  std::string_view text_;
  std::int64_t row_line_ = 0, passed_ = 0, blank_line_ = 0;
  Cells cells_;
};

}  // namespace npzoo
