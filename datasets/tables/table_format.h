#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace npzoo {

/// The cells of a row: without quotes and the blanks around them. Valid as long as the row's text is, and until the
/// next row is split into it.
struct Cells {
  std::vector<std::string_view> text;
  std::deque<std::string> unquoted;  // of cells that hold quotes themselves
};

/// How the rows of a table are written: its header.
class TableFormat {
 public:
  /// `header` is line `line` of the file `name`. The separator is the one of `,`, `;` and tab that stands between names
  /// (RFC 4180; names and cells may be quoted), or `separator` if the file names one; if there is none the table has
  /// one column. The separator ' ' means any number of blanks and tabs. A first column without a name can be named
  /// `row`. Line breaks in names become blanks. Of a table between blanks the column `two_words` may have two: a date
  /// and a time of day. Throws Error for a header that has several separators, a name twice, or numbers alone.
  TableFormat(std::string name, std::int64_t line, std::string_view header, std::optional<char> separator = {},
              std::optional<std::size_t> two_words = {});

  /// Describes a table that comes from no file. Any different texts are names. `line` is the number in front of its
  /// rows.
  TableFormat(std::string name, std::int64_t line, std::vector<std::string> header);

  const std::string& name() const { return name_; }
  const std::vector<std::string>& header() const { return header_; }
  std::size_t columns() const { return header_.size(); }
  char separator() const { return separator_; }
  std::int64_t header_line() const { return line_; }  // the last one, if names have line breaks

  /// Position of the column `name`, if there is one.
  std::optional<std::size_t> find(std::string_view name) const;
  /// The same; throws Error, listing the columns there are, if it is missing.
  std::size_t column(std::string_view name) const;
  /// How messages call a column: its name in quotes, or its number.
  std::string title(std::size_t column) const;
  /// Throws Error unless every column has a name.
  void check_named() const;

  /// Splits a row, which may hold line breaks within quotes. `line` is where it begins. Throws Error if it does not
  /// have a cell for every column.
  void split(std::string_view row, std::int64_t line, Cells& cells) const;
  /// Place within a row; `after` returns that behind a text which begins at `from`. Within quotes the row goes on in
  /// the next line.
  enum class At : std::uint8_t { start, plain, quoted, closed };
  At after(std::string_view text, At from) const;

 private:
  std::string where(std::int64_t line) const;
  void sort_names();
  void split_quoted(std::string_view row, std::int64_t line, Cells& cells) const;
  void split_blanks(std::string_view row, std::int64_t line, Cells& cells) const;

  std::string name_;
  std::int64_t line_;
  char separator_;
  std::optional<std::size_t> two_words_;
  std::vector<std::string> header_;
  std::vector<std::size_t> by_name_;  // positions of the columns with a name, in the order of the names
};

}  // namespace npzoo
