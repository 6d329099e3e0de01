#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace npzoo {

// What the first lines of a file say about the table in it.

/// Names the kind of a file that is no table: "JSON", "an HTML page". None for text that may be a table.
std::optional<std::string> kind_of_other_file(std::string_view head);

/// True for the first line of a logger's file of the form TOA5: the names follow, and below them two lines with units
/// and the kinds of the values.
bool is_toa5(std::string_view line);
/// True for the line below the names of an RDB file that gives the widths of columns: 5s, 20d and 14n between tabs.
bool has_rdb_formats(std::string_view line);

/// Finds separators outside of quotes. A tab beside another separator is a blank.
std::string separators_in(std::string_view header);
/// Finds the one of `separators` that gives each of `rows` as many cells as the header; of several the one that gives
/// more cells of numbers and dates. None if that leaves a doubt.
std::optional<char> separator_by_rows(std::string_view header, std::span<const std::string_view> rows,
                                      std::string_view separators);

/// True if a line ends within a quoted cell.
bool ends_within_quotes(std::string_view line);
/// The number of words between blanks, each of which may stand in quotes.
std::size_t count_words(std::string_view text);
/// The first of two words next to each other that are a date and a time of day.
std::optional<std::size_t> date_and_time_words(std::string_view row);

/// A name that seems to be data of the column below it.
struct DataAsName {
  std::string name;
  const char* above;  // "dates" or "numbers"
};
/// Finds a date above dates, or a decimal number above such numbers where no other name stands above data. Numbers that
/// ascend or descend may be names.
std::optional<DataAsName> data_among_names(std::string_view header, std::span<const std::string_view> rows,
                                           char separator);

/// Finds names in comments (without their #) of a table whose first row below them has numbers, dates and missing
/// values alone, or data_among_names: as a header in quotes, with its separator, ' ' for blanks. Of the comments with
/// as many different names, the one with the fewest units has them, then the last one.
struct CommentNames {
  std::size_t comment;
  std::string header;
  char separator;
};
std::optional<CommentNames> names_in_comments(std::span<const std::string> comments,
                                              std::span<const std::string_view> rows);

/// Finds the separator | or ~ of a header without another, if each row has as many of it.
std::optional<char> rare_separator(std::string_view header, std::span<const std::string_view> rows);

/// The edge at which all rows have one cell more than the header: a name of the row in front, or a blank cell behind.
enum class ColumnAtEdge : std::uint8_t { none, in_front, behind };
ColumnAtEdge unnamed_column(std::string_view header, std::span<const std::string_view> rows, char separator);

/// The number of lines before the header of a table that other lines precede, as far as `head`, the first lines of the
/// file, shows; none if there is no such table.
std::optional<std::int64_t> lines_before_table(std::string_view head);

}  // namespace npzoo
