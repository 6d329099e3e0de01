#include "npzoo/datasets/tables/table_reader.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "npzoo/engine/error.h"
#include "npzoo/engine/io/text.h"

namespace npzoo {

namespace {

constexpr std::size_t kFirstCapacity = std::size_t{1} << 18;

struct Magic {
  std::string_view bytes;
  const char* what;
};

constexpr auto kNoTables = std::to_array<Magic>({
    {"PAR1", "a Parquet file"},
    {"ARROW1", "an Arrow file"},
    {"FEA1", "a Feather file"},
    {"PK\x03\x04", "a zip archive or a spreadsheet"},
    {"\xD0\xCF\x11\xE0", "a spreadsheet"},
    {"BZh", "compressed by bzip2"},
    {"\x28\xB5\x2F\xFD", "compressed by zstd"},
    {"\x89HDF", "an HDF5 file"},
    {"SQLite format 3", "a database of SQLite"},
    {"\xFF\xFE", "UTF-16"},
    {"\xFE\xFF", "UTF-16"},
});

/// Names of columns may begin as some files of other kinds do.
bool is_binary(std::string_view text) {
  constexpr std::size_t kLooked = 32;
  return std::ranges::any_of(text.substr(0, kLooked), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte >= 0x80 || (byte < 0x20 && c != '\t' && c != '\n' && c != '\r');
  });
}

/// Words between blanks, each of which may stand in quotes.
std::size_t count_words(std::string_view text) {
  std::size_t count = 0;
  bool quoted = false, inside = false;
  for (const char c : text) {
    quoted = quoted != (c == '"');
    const bool blank = !quoted && (c == ' ' || c == '\t' || c == '\r');
    count += !blank && !inside;
    inside = !blank;
  }
  return count;
}

}  // namespace

TableReader::TableReader(const std::filesystem::path& path, std::int64_t skip_rows)
    : bytes_(path), buffer_(std::make_unique_for_overwrite<char[]>(kFirstCapacity)), capacity_(kFirstCapacity) {
  std::string header(header_line(skip_rows));
  if (!separator_ && between_blanks(header)) separator_ = ' ';
  format_ = std::make_unique<TableFormat>(bytes_.name(), line_, header, separator_);
}

/// True if the header has several words and no separator, and the first row as many, or one more: then adds the name
/// of the column in front.
bool TableReader::between_blanks(std::string& header) {
  if (header.find_first_of(",;") != std::string::npos || trim(header).find_first_of(" \t") == std::string_view::npos)
    return false;
  if (header.find('\t') != std::string::npos) return false;
  const std::string_view row = trim(pending_.substr(0, line_end(0, false)));
  if (CellParser(TableFormat("", 0, "cell", ',')).kind_of(row) != ColumnForm::Kind::unknown) return false;
  const std::size_t names = count_words(header), cells = count_words(row);
  if (names < 2 || (cells != names && cells != names + 1)) return false;
  if (cells > names) header = "row " + header;
  return true;
}

std::string_view TableReader::header_line(std::int64_t skip_rows) {
  find_line_ends();
  for (const Magic& magic : kNoTables)
    if (pending_.starts_with(magic.bytes) && is_binary(pending_))
      fail("[{}] is {}, expected a table as text in UTF-8 (CSV), which gzip or xz may have compressed", bytes_.name(),
           magic.what);
  auto line = next_line();
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (line && line->starts_with(kByteOrderMark)) line->remove_prefix(kByteOrderMark.size());
  for (std::int64_t i = 0; i < skip_rows && line; ++i) line = next_line();
  bool commented = false;
  for (; line && line->starts_with('#'); line = next_line()) commented = true;
  if (line && names_separator(*line)) line = next_line();
  check(line && !trim(*line).empty(), "[{}] is empty{}, expected a line of column names", bytes_.name(),
        commented ? " after its comments" : "");
  return *line;
}

bool TableReader::names_separator(std::string_view line) {
  constexpr std::string_view kBegin = "sep=";
  if (line.size() != kBegin.size() + 1 || !line.starts_with(kBegin)) return false;
  const char named = line.back();
  check(named == ',' || named == ';' || named == '\t', "[{}:{}] names the separator {}, expected \",\", \";\" or a tab",
        bytes_.name(), line_, in_quotes(line.substr(kBegin.size())));
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
  if (text.ends_with('\r')) text.remove_suffix(1);
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

bool TableReader::next() {
  std::size_t end = line_end(0, false);
  if (pending_.empty()) return false;
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
  if (!is_blank(text_)) return true;
  expect_blank_rest();
  return false;
}

bool TableReader::is_blank(std::string_view line) const {
  return line.find_first_not_of(format_->separator() == '\t' ? " " : " \t") == std::string_view::npos;
}

void TableReader::expect_blank_rest() {
  const std::int64_t blank = line_;
  while (const auto line = next_line())
    check(is_blank(*line), "[{}:{}] is blank between rows, expected column {}", bytes_.name(), blank,
          format_->title(0));
}

const std::vector<std::string_view>& TableReader::cells() {
  format_->split(text_, row_line_, cells_);
  return cells_.text;
}

}  // namespace npzoo
