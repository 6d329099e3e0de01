#include "npzoo/datasets/tables/table_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "npzoo/datasets/tables/flag_text.h"
#include "npzoo/datasets/tables/table_start.h"
#include "npzoo/datasets/tables/unit_lines.h"
#include "npzoo/engine/error.h"
#include "npzoo/engine/io/text.h"

namespace npzoo {

namespace {

constexpr std::size_t kFirstCapacity = std::size_t{1} << 18;

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
constexpr std::size_t kHead = std::size_t{1} << 16;
constexpr std::size_t kPeeked = 5;  // rows that show what separates columns
constexpr std::string_view kGeneralHint = "; use --skip-rows if", kNamesHint = "; if the names of the columns are";

/// Whether a row has the names of the columns again, as behind each part of a file that was put together.
bool repeats_names(const TableFormat& format, std::string_view row) {
  const std::vector<std::string>& names = format.header();
  const std::string_view first = names[0];
  if (first.empty() || names.size() < 2 || !row.substr(row.starts_with('"') ? 1 : 0).starts_with(first)) return false;
  Cells cells;
  try {
    format.split(row, 0, cells);
  } catch (const Error&) {
    return false;
  }
  return std::ranges::equal(cells.text, names);
}

}  // namespace

auto TableReader::with_hint(const auto& read) const {
  try {
    return read();
  } catch (const Error& error) {
    const auto lines = lines_before_table(head_);
    std::string message = error.what();
    if (!lines || *lines == skipped_) throw;
    message.erase(std::min(message.find(kGeneralHint), message.size()));
    fail("{}{} in line {}, use --skip-rows {}", message, kNamesHint, *lines + 1, *lines);
  }
}

TableReader::TableReader(const std::filesystem::path& path, std::int64_t skip_rows)
    : bytes_(path),
      buffer_(std::make_unique_for_overwrite<char[]>(kFirstCapacity)),
      capacity_(kFirstCapacity),
      skipped_(skip_rows) {
  find_line_ends();
  head_ = pending_.substr(0, kHead);
  if (const auto kind = kind_of_other_file(pending_))
    fail("[{}] is {}, expected a table as text in UTF-8 (CSV), which gzip or xz may have compressed{}", bytes_.name(),
         *kind,
         *kind == "UTF-16" ? fmt::format(": iconv -f utf-16 -t utf-8 {} > NEW.csv", flag_value(bytes_.name())) : "");
  with_hint([this] { read_format(); });
}

void TableReader::read_format() {
  if (pending_.starts_with(kByteOrderMark)) pending_.remove_prefix(kByteOrderMark.size());
  for (std::int64_t i = 0; i < skipped_; ++i)
    if (!next_line()) break;
  std::vector<std::string> comments;
  skip_to_header(comments);
  const bool toa5 = is_toa5(*peek());
  if (toa5) next_line();
  if (toa5) skip_to_header(comments);
  has_comments_ = !comments.empty();
  if (!read_names_in_comments(comments)) {
    std::string header = take_header();
    find_separator(header);
    format_ = std::make_unique<TableFormat>(bytes_.name(), line_, header, separator_, two_words_);
    check_no_data(header);
  }
  for (int units = toa5 ? 2 : 0; units > 0; --units) next_line();
  if (const auto row = peek(); row && has_rdb_formats(*row)) next_line();
  unit_lines_ = static_cast<std::int64_t>(count_unit_lines(*format_, peek_rows(kPeeked)));
  for (std::int64_t i = 0; i < unit_lines_; ++i) next_line();
  first_line_ = line_ + 1;
  if (format_->columns() > 1) blanks_ += format_->separator();  // spreadsheets write empty cells below a table
}

/// Finds what separates columns, and adds a column without a name that all rows have.
void TableReader::find_separator(std::string& header) {
  const std::string found = separators_in(header);
  if (!separator_ && found.empty()) separator_ = rare_separator(header, peek_rows(kPeeked));
  if (!separator_ && between_blanks(header)) separator_ = ' ';
  if (!separator_ && found.size() > 1) separator_ = separator_by_rows(header, peek_rows(kPeeked), found);
  const char separator = separator_ ? *separator_ : found.size() == 1 ? found[0] : '\0';
  if (separator == '\0' || separator == ' ' || header.find('\n') != std::string::npos) return;
  const ColumnAtEdge edge = unnamed_column(header, peek_rows(kPeeked), separator);
  if (edge == ColumnAtEdge::in_front) header.insert(0, 1, separator);
  if (edge == ColumnAtEdge::behind) header += separator;
}

/// Taking a row of data for the names would lose it without a word.
void TableReader::check_no_data(std::string_view header) {
  const auto data = data_among_names(header, peek_rows(kPeeked), format_->separator());
  if (data)
    fail("[{}:{}] has the name {} above {}, found data, expected column names: add a line of names above it",
         bytes_.name(), line_, in_quotes(data->name), data->above);
}

/// Skips comments, blank lines and the line that names the separator.
void TableReader::skip_to_header(std::vector<std::string>& comments) {
  constexpr std::size_t kMostComments = 100, kLongestNames = 4096;
  std::optional<std::string_view> line;
  for (line = peek(); line; line = peek()) {
    if (line->starts_with('#')) {
      line->remove_prefix(line->find_first_not_of('#') == std::string_view::npos ? line->size()
                                                                                 : line->find_first_not_of('#'));
      if (comments.size() == kMostComments) comments.erase(comments.begin());
      comments.emplace_back(trim(line->substr(0, kLongestNames)));
    } else if (!trim(*line).empty() && !names_separator(*line)) {
      return;
    }
    next_line();
  }
  fail("[{}] is empty{}, expected a line of column names", bytes_.name(),
       comments.empty() ? "" : " after its comments");
}

bool TableReader::read_names_in_comments(const std::vector<std::string>& comments) {
  if (comments.empty()) return false;
  const auto names = names_in_comments(comments, peek_rows(kPeeked + 1));
  if (!names) return false;
  format_ = std::make_unique<TableFormat>(bytes_.name(), line_, names->header, names->separator);
  return true;
}

/// Takes the line of names, and further ones while a name within quotes has line breaks.
std::string TableReader::take_header() {
  constexpr int kMostLines = 20;
  std::string header(*next_line());
  if (!ends_within_quotes(header)) return header;
  const std::vector<std::string_view> more = peek_rows(kMostLines);
  std::string whole = header;
  for (std::size_t i = 0; i < more.size(); ++i) {
    whole.append("\n").append(more[i]);
    if (ends_within_quotes(whole)) continue;
    for (std::size_t taken = 0; taken <= i; ++taken) next_line();
    return whole;
  }
  return header;  // its quote is never closed
}

/// True if the header has several words and no separator, and the first row as many, or one more: then adds the name
/// of the column in front, or finds the column that is a date and a time of day.
bool TableReader::between_blanks(std::string& header) {
  if (header.find_first_of(",;") != std::string::npos || trim(header).find_first_of(" \t") == std::string_view::npos)
    return false;
  if (header.find('\t') != std::string::npos) return false;
  const std::vector<std::string_view> rows = peek_rows(kPeeked);
  CellParser cell(TableFormat("", 0, "cell", ','));
  const auto is_time = [&](std::string_view line) { return cell.kind_of(trim(line)) == ColumnForm::Kind::time; };
  if (rows.empty() || std::ranges::all_of(rows, is_time)) return false;
  const std::string_view row = trim(rows[0]);
  const std::size_t names = count_words(header), cells = count_words(row);
  if (names < 2 || (cells != names && cells != names + 1)) return false;
  if (cells == names) return true;
  two_words_ = date_and_time_words(row);
  if (!two_words_) header = "row " + header;
  return true;
}

bool TableReader::names_separator(std::string_view line) {
  constexpr std::string_view kBegin = "sep=";
  if (line.size() != kBegin.size() + 1 || !line.starts_with(kBegin)) return false;
  const char named = line.back();
  check(named == ',' || named == ';' || named == '\t', "[{}:{}] names the separator {}, expected \",\", \";\" or a tab",
        bytes_.name(), line_ + 1, in_quotes(line.substr(kBegin.size())));
  separator_ = named;
  return true;
}

bool TableReader::refill() {
  const std::size_t kept = pending_.size();
  check(kept < kMaxRowBytes, "[{}:{}] is a line of more than {} bytes", bytes_.name(), line_ + 1, kMaxRowBytes);
  if (kept == capacity_) {
    auto larger = std::make_unique_for_overwrite<char[]>(2 * capacity_);
    std::memcpy(larger.get(), pending_.data(), kept);
    buffer_ = std::move(larger);
    capacity_ *= 2;
  } else if (kept > 0) {
    std::memmove(buffer_.get(), pending_.data(), kept);
  }
  const std::size_t count = bytes_.read(std::as_writable_bytes(std::span(buffer_.get() + kept, capacity_ - kept)));
  pending_ = {buffer_.get(), kept + count};
  return count > 0;
}

/// Lines end with CR if the beginning of the file has CR and no LF.
void TableReader::find_line_ends() {
  while (pending_.find('\n') == std::string_view::npos && pending_.size() < kFirstCapacity)
    if (!refill()) break;
  const bool has_lf = pending_.find('\n') != std::string_view::npos;
  if (!has_lf && pending_.find('\r') != std::string_view::npos) end_ = '\r';
}

/// Returns the first end of a line at or after `from`; npos if the file ends without one. Within quotes a row that is
/// too long ends as well: the caller then reports the fault.
std::size_t TableReader::line_end(std::size_t from, bool quoted) {
  std::size_t end = pending_.find(end_, from);
  while (end == std::string_view::npos) {
    const std::size_t searched = std::max(from, pending_.size());
    if (quoted && pending_.size() >= kMaxRowBytes) break;
    if (!refill()) break;
    end = pending_.find(end_, searched);
  }
  return end;
}

std::string_view TableReader::take(std::size_t end, std::int64_t lines) {
  std::string_view text = pending_.substr(0, end);
  pending_.remove_prefix(std::min(text.size() + 1, pending_.size()));
  while (text.ends_with('\r')) text.remove_suffix(1);
  line_ += lines;
  check(text.find('\0') == std::string_view::npos,
        "[{}:{}] holds a byte of value 0, expected a table as text in UTF-8 (CSV)", bytes_.name(), line_);
  return text;
}

std::optional<std::string_view> TableReader::next_line() {
  const std::size_t end = line_end(0, false);
  if (pending_.empty()) return std::nullopt;
  return take(end, 1);
}

std::optional<std::string_view> TableReader::peek() {
  const std::size_t end = line_end(0, false);
  if (pending_.empty()) return std::nullopt;
  std::string_view text = pending_.substr(0, end);
  while (text.ends_with('\r')) text.remove_suffix(1);
  return text;
}

std::vector<std::string_view> TableReader::peek_rows(std::size_t most) {
  std::vector<std::string_view> rows;
  if (!peek()) return rows;
  for (std::size_t begin = 0; begin < pending_.size() && rows.size() < most;) {
    const std::size_t end = pending_.find(end_, begin);
    if (end == std::string_view::npos && !rows.empty()) break;
    std::string_view row = pending_.substr(begin, end - begin);
    while (row.ends_with('\r')) row.remove_suffix(1);
    if (!trim(row).empty()) rows.push_back(row);
    begin = end == std::string_view::npos ? pending_.size() : end + 1;
  }
  return rows;
}

bool TableReader::next() {
  return with_hint([this] { return next_row(); });
}

bool TableReader::next_row() {
  passed_ = 0;
  for (;; ++passed_) {
    if (line_end(0, false); pending_.empty()) return false;
    if (!has_comments_ || !pending_.starts_with('#')) {
      take_row();
      if (!is_blank(text_) && !repeats_names(*format_, text_)) break;
    } else {
      next_line();
    }
  }
  // In a table of one column a blank line may be a missing value.
  check(passed_ == 0 || format_->columns() > 1 || !blank_line_, "[{}:{}] is blank between rows, expected column {}",
        bytes_.name(), blank_line_, format_->title(0));
  return true;
}

/// Takes a row, which goes on in the next line within quotes.
void TableReader::take_row() {
  std::size_t end = line_end(0, false);
  row_line_ = line_ + 1;
  std::int64_t lines = 1;
  using At = TableFormat::At;
  At at = format_->after(pending_.substr(0, end), At::start);
  while (at == At::quoted && end != std::string_view::npos) {
    const std::size_t begin = end + 1;
    end = line_end(begin, true);
    at = format_->after(pending_.substr(std::min(begin, pending_.size()), end - begin), at);
    ++lines;
  }
  text_ = take(end, lines);
  if (blank_line_ == 0 && is_blank(text_)) blank_line_ = row_line_;
}

bool TableReader::is_blank(std::string_view line) const {
  return line.find_first_not_of(blanks_) == std::string_view::npos;
}

/// True if the row at hand begins with a word, behind two rows or more, and no line below has as many cells as the
/// table: a note, or a line such as END.
bool TableReader::is_footer() {
  constexpr std::size_t kMost = 200;
  if (row_line_ < first_line_ + 2) return false;
  const std::string_view first = trim(text_.substr(0, text_.find(format_->separator())));
  if (CellParser(*format_).kind_of(first) != ColumnForm::Kind::unknown || first.empty()) return false;
  const std::vector<std::string_view> rest = peek_rows(kMost);
  Cells cells;
  // A long rest is the table, and what was read so far are lines above it.
  return rest.size() < kMost && std::ssize(rest) < row_line_ - first_line_ &&
         std::ranges::none_of(rest, [&](std::string_view row) {
           try {
             format_->split(row, 0, cells);
             return true;
           } catch (const Error&) {
             return false;
           }
         });
}

const std::vector<std::string_view>& TableReader::cells() {
  try {
    with_hint([this] { format_->split(text_, row_line_, cells_); });
  } catch (const Error& error) {
    if (!is_footer()) throw;
    std::string message = error.what();
    for (const std::string_view hint : {kGeneralHint, kNamesHint})
      message.erase(std::min(message.find(hint), message.size()));
    const bool last = peek_rows(1).empty();
    fail("{}; if the table ends above, delete {}", message,
         last ? fmt::format("line {}", row_line_) : fmt::format("the lines from {} on", row_line_));
  }
  return cells_.text;
}

}  // namespace npzoo
