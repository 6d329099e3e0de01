#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/io/file.h"

namespace npzoo {

/// Reads a comma-separated table of finite numbers row by row, in memory that does not depend on the file's size.
///
/// Lines that begin with `#` may come first and are skipped. The first line after them names the columns and may quote
/// them; every other line holds one number per column. Line ends may be LF or CRLF; a UTF-8 byte order mark, spaces
/// around fields, quotes around numbers and blank lines at the end are accepted. Anything else throws an Error that
/// names the file, the line and the column.
class CsvReader {
 public:
  static constexpr std::size_t kMaxLineBytes = std::size_t{1} << 20;

  /// Opens `path` (`-` is standard input) and reads the header.
  explicit CsvReader(const std::filesystem::path& path) : CsvReader(path, {}) {}
  /// `give_up` as in ReadOnlyFile.
  CsvReader(const std::filesystem::path& path, std::function<bool()> give_up);

  /// The column names: at least one, all different, none empty.
  const std::vector<std::string>& header() const { return header_; }
  /// Position of the column `name`; throws Error, listing the columns there are, where it is missing.
  std::size_t column(std::string_view name) const;
  /// Appends the next rows, at most `max_rows`, to `values` in row-major order. Returns how many; fewer than
  /// `max_rows` only at the end of the file. After an Error the content of `values` is unspecified.
  std::int64_t read(std::int64_t max_rows, std::vector<double>& values);

 private:
  std::optional<std::string_view> next_line();
  std::string_view header_line();
  bool refill();
  void parse_header(std::string_view line);
  void check_names() const;
  void parse_row(std::string_view line, std::vector<double>& values) const;
  double parse_number(std::string_view field, std::size_t column) const;
  void expect_blank_rest();
  std::string where() const;

  ReadOnlyFile file_;
  std::unique_ptr<char[]> buffer_;  // of kMaxLineBytes
  std::string_view pending_;        // the part of buffer_ that is read but not parsed
  std::int64_t line_ = 0;           // number of the line last returned, from 1
  std::int64_t header_at_ = 0;      // number of the line that names the columns
  std::vector<std::string> header_;
};

/// Writes what CsvReader reads, each number with the fewest digits that read back to the same value.
/// The file appears when `commit()` is called, or not at all (see AtomicFile); the path `-` is standard output.
class CsvWriter {
 public:
  /// Each of `comments` becomes a line `# …` before the header; throws Error where one has a line break.
  CsvWriter(const std::filesystem::path& path, std::span<const std::string> header,
            std::span<const std::string> comments = {});

  /// Appends whole rows in row-major order. Throws Error for a partial row and for a number that is not finite.
  void write(std::span<const double> values);
  /// Hands on the rows so far where they are written straight through.
  void flush() { file_.flush(); }
  void commit() { file_.commit(); }

 private:
  AtomicFile file_;
  std::vector<std::string> header_;
  std::int64_t lines_ = 0;  // written so far
};

}  // namespace npzoo
