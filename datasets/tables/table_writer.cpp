#include "npzoo/datasets/tables/table_writer.h"

#include <fmt/compile.h>
#include <fmt/format.h>

#include <cmath>
#include <iterator>

#include "npzoo/engine/error.h"
#include "npzoo/engine/io/text.h"

namespace npzoo {

std::string as_cell(std::string_view text, char separator) {
  // In front of a line, # would begin a comment.
  const bool plain = text.find_first_of("\"\r\n") == std::string_view::npos &&
                     text.find(separator) == std::string_view::npos && !text.starts_with('#') && trim(text) == text;
  if (plain) return std::string(text);
  std::string result = "\"";
  for (const char c : text) result.append(c == '"' ? 2 : 1, c);
  return result + '"';
}

TableWriter::TableWriter(const std::filesystem::path& path, std::span<const std::string> header,
                         std::span<const std::string> comments, TableStyle style)
    : file_(path), header_(header.begin(), header.end()), style_(style) {
  check(!header_.empty(), "[{}] has no columns, expected at least one", file_.name());
  for (const std::string& comment : comments) {
    check(comment.find_first_of("\r\n") == std::string::npos, "[{}] got the comment {}, expected one line",
          file_.name(), in_quotes(comment));
    file_.write(fmt::format("# {}\n", comment));
  }
  lines_ = static_cast<std::int64_t>(comments.size()) + 1;
  std::string line;
  for (std::size_t i = 0; i < header_.size(); ++i) {
    if (i > 0) line += style_.separator;
    // Another separator in the header's line would leave in doubt which one it is.
    const bool doubtful = header_[i].find_first_of(",;\t") != std::string::npos;
    line += doubtful && as_cell(header_[i], style_.separator) == header_[i] ? fmt::format("\"{}\"", header_[i])
                                                                            : as_cell(header_[i], style_.separator);
  }
  file_.write(line + '\n');
}

void TableWriter::write(std::string_view cells, std::span<const double> numbers) {
  line_.assign(cells);
  const std::size_t first = header_.size() - numbers.size();
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (!std::isfinite(numbers[i]))
      fail("[{}:{}] column {} is {}, expected a finite number", file_.name(), lines_ + 1, in_quotes(header_[first + i]),
           numbers[i]);
    if (first + i > 0) line_ += style_.separator;
    const std::size_t begin = line_.size();
    fmt::format_to(std::back_inserter(line_), FMT_COMPILE("{}"), numbers[i]);
    if (style_.decimal_sign != '.') write_decimal_sign(begin);
  }
  line_ += '\n';
  file_.write(std::string_view(line_));
  ++lines_;
}

/// Replaces the points of the number that begins at `begin`. A sign that is the separator as well needs quotes.
void TableWriter::write_decimal_sign(std::size_t begin) {
  const std::size_t point = line_.find('.', begin);
  if (point == std::string::npos) return;
  line_[point] = style_.decimal_sign;
  if (style_.decimal_sign != style_.separator) return;
  line_.insert(begin, 1, '"');
  line_ += '"';
}

void TableWriter::write_blank(std::string_view cells, std::size_t blank) {
  line_.assign(cells);
  if (style_.separator == ' ')
    for (std::size_t i = 0; i < blank; ++i) line_ += " NA";  // blanks alone would be no cells
  else
    line_.append(cells.empty() && blank > 0 ? blank - 1 : blank, style_.separator);
  line_ += '\n';
  file_.write(std::string_view(line_));
  ++lines_;
}

}  // namespace npzoo
