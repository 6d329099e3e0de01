#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "npzoo/engine/io/file.h"

namespace npzoo {

/// How a table writes its numbers. Numbers with a decimal sign that is the separator stand in quotes.
struct TableStyle {
  char separator = ',', decimal_sign = '.';
};

/// A name or a text as a cell, in quotes where it needs them.
std::string as_cell(std::string_view text, char separator);

/// Writes what TableReader reads, each number with the fewest digits that read back to the same value. The file appears
/// when `commit()` is called, or not at all (see AtomicFile); the path `-` is standard output.
class TableWriter {
 public:
  /// Each of `comments` becomes a line `# …` before the header; throws Error if one has a line break.
  TableWriter(const std::filesystem::path& path, std::span<const std::string> header,
              std::span<const std::string> comments = {}, TableStyle style = {});

  /// Appends a row: cells as they stand, which must be separated as the table's are, and numbers behind them. Throws
  /// Error for a number that is not finite.
  void write(std::string_view cells, std::span<const double> numbers);
  /// Appends a row of cells as they stand and `blank` empty cells behind them.
  void write_blank(std::string_view cells, std::size_t blank);
  /// Hands on the rows so far where they are written straight through.
  void flush() { file_.flush(); }
  void commit() { file_.commit(); }

 private:
  void write_decimal_sign(std::size_t begin);

  AtomicFile file_;
  std::vector<std::string> header_;
  TableStyle style_;
  std::string line_;
  std::int64_t lines_ = 0;  // written so far
};

}  // namespace npzoo
