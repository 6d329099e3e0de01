#include "engine/io/csv.h"

#include <fmt/compile.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <iterator>
#include <memory>
#include <system_error>

#include "engine/error.h"

namespace npzoo {

namespace {

bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

bool is_space(char c) { return c == ' ' || c == '\t'; }

std::string_view trim(std::string_view text) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

// Text from a file as one short line of an error message.
std::string excerpt(std::string_view text) {
  constexpr std::size_t kLength = 40;
  const bool cut = text.size() > kLength;
  if (cut) {
    std::size_t length = kLength;
    while (length > 0 && (text[length] & 0xC0) == 0x80) --length;  // not in the middle of a UTF-8 character
    text = text.substr(0, length);
  }
  std::string shown(text);
  std::replace_if(shown.begin(), shown.end(), is_control, '?');
  return fmt::format("\"{}{}\"", shown, cut ? "…" : "");
}

std::string joined(std::span<const std::string> names) {
  std::string list;
  for (const std::string& name : names.first(std::min<std::size_t>(names.size(), 12)))
    list += fmt::format("{}{}", list.empty() ? "" : ", ", excerpt(name));
  return names.size() > 12 ? fmt::format("{} and {} more", list, names.size() - 12) : list;
}

std::from_chars_result parse(std::string_view text, double& value) {
  if (text.size() > 1 && text[0] == '+' && text[1] != '-') text.remove_prefix(1);  // std::from_chars takes no plus sign
  return std::from_chars(text.data(), text.data() + text.size(), value);
}

bool is_number(std::string_view text) {
  double value;
  return !text.empty() && parse(text, value).ptr == text.data() + text.size();
}

std::string quoted(const std::string& name) {
  // In front of a line, # would begin a comment.
  const bool plain = name.find_first_of(",\"\r\n") == std::string::npos && !name.starts_with('#') && trim(name) == name;
  if (plain) return name;
  std::string result = "\"";
  for (const char c : name) result.append(c == '"' ? 2 : 1, c);
  return result + '"';
}

}  // namespace

CsvReader::CsvReader(const std::filesystem::path& path, std::function<bool()> give_up)
    : file_(path, std::move(give_up)), buffer_(std::make_unique_for_overwrite<char[]>(kMaxLineBytes)) {
  parse_header(header_line());
  check_names();
}

std::string_view CsvReader::header_line() {
  auto line = next_line();
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (line && line->starts_with(kByteOrderMark)) line->remove_prefix(kByteOrderMark.size());
  bool commented = false;
  for (; line && line->starts_with('#'); line = next_line()) commented = true;
  check(line && !trim(*line).empty(), "[{}] is empty{}, expected a line of column names", file_.name(),
        commented ? " after its comments" : "");
  header_at_ = line_;
  return *line;
}

std::string CsvReader::where() const { return fmt::format("{}:{}", file_.name(), line_); }

std::size_t CsvReader::column(std::string_view name) const {
  const auto found = std::find(header_.begin(), header_.end(), name);
  check(found != header_.end(), "[{}:{}] has no column {}, found {}", file_.name(), header_at_, excerpt(name),
        joined(header_));
  return static_cast<std::size_t>(found - header_.begin());
}

bool CsvReader::refill() {
  const std::span buffer(buffer_.get(), kMaxLineBytes);
  const std::size_t kept = pending_.size();
  check(kept < buffer.size(), "[{}:{}] is a line of more than {} bytes", file_.name(), line_ + 1, kMaxLineBytes);
  if (kept > 0) std::memmove(buffer.data(), pending_.data(), kept);
  const std::size_t count = file_.read(std::as_writable_bytes(buffer.subspan(kept)));
  pending_ = {buffer.data(), kept + count};
  return count > 0;
}

std::optional<std::string_view> CsvReader::next_line() {
  std::size_t length = pending_.find('\n');
  while (length == std::string_view::npos && refill()) length = pending_.find('\n');
  if (pending_.empty()) return std::nullopt;
  std::string_view line = pending_.substr(0, length);
  pending_.remove_prefix(std::min(line.size() + 1, pending_.size()));
  if (line.ends_with('\r')) line.remove_suffix(1);
  ++line_;
  return line;
}

void CsvReader::parse_header(std::string_view line) {
  std::string_view rest = line;
  for (bool more = true; more;) {
    rest = trim(rest);
    std::string name;
    if (rest.starts_with('"')) {
      std::size_t close = rest.find('"', 1);
      for (; close < rest.size() && rest.substr(close + 1).starts_with('"'); close = rest.find('"', 1)) {
        name += rest.substr(1, close);
        rest.remove_prefix(close + 1);
      }
      check(close < rest.size(), "[{}] column {} has an opening quote and no closing one", where(), header_.size() + 1);
      name += rest.substr(1, close - 1);
      rest = trim(rest.substr(close + 1));
      check(rest.empty() || rest.front() == ',', "[{}] column {} goes on after its closing quote", where(),
            excerpt(name));
    } else {
      name = trim(rest.substr(0, rest.find(',')));
      rest.remove_prefix(std::min(rest.find(','), rest.size()));
    }
    header_.push_back(std::move(name));
    more = !rest.empty();
    if (more) rest.remove_prefix(1);
  }
}

void CsvReader::check_names() const {
  for (std::size_t i = 0; i < header_.size(); ++i) {
    const std::string& name = header_[i];
    check(!name.empty(), "[{}] column {} has no name", where(), i + 1);
    check(std::none_of(name.begin(), name.end(), is_control),
          "[{}] column {} has a control character in its name, expected UTF-8 text", where(), excerpt(name));
  }
  std::vector<std::string_view> sorted(header_.begin(), header_.end());
  std::sort(sorted.begin(), sorted.end());
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  check(twice == sorted.end(), "[{}] has two columns {}", where(), twice == sorted.end() ? "" : excerpt(*twice));
  // Taking a row of data for the names would lose it without a word.
  check(!std::all_of(header_.begin(), header_.end(), is_number), "[{}] holds only numbers, expected column names",
        where());
}

std::int64_t CsvReader::read(std::int64_t max_rows, std::vector<double>& values) {
  std::int64_t rows = 0;
  for (; rows < max_rows; ++rows) {
    const auto line = next_line();
    if (!line) break;
    if (trim(*line).empty()) {
      expect_blank_rest();
      break;
    }
    parse_row(*line, values);
  }
  return rows;
}

void CsvReader::expect_blank_rest() {
  const std::string blank = where();
  while (const auto line = next_line())
    check(trim(*line).empty(), "[{}] is blank between rows, expected column {}", blank, excerpt(header_.front()));
}

void CsvReader::parse_row(std::string_view line, std::vector<double>& values) const {
  const std::size_t columns = header_.size();
  const auto fields = static_cast<std::size_t>(std::count(line.begin(), line.end(), ',')) + 1;
  if (fields < columns)
    fail("[{}] column {} is missing, found {} fields, expected {}", where(), excerpt(header_[fields]), fields, columns);
  if (fields > columns)
    fail("[{}] goes on after the last column {}, found {} fields, expected {}", where(), excerpt(header_.back()),
         fields, columns);
  for (std::size_t i = 0; i < columns; ++i) {
    const std::size_t length = std::min(line.find(','), line.size());
    values.push_back(parse_number(line.substr(0, length), i));
    line.remove_prefix(std::min(length + 1, line.size()));
  }
}

double CsvReader::parse_number(std::string_view field, std::size_t column) const {
  std::string_view text = trim(field);
  if (text.size() > 1 && text.front() == '"' && text.back() == '"') text = trim(text.substr(1, text.size() - 2));
  double value = 0.0;
  const auto [end, error] = parse(text, value);
  if (error == std::errc() && end == text.data() + text.size() && std::isfinite(value)) [[likely]]
    return value;
  const std::string name = excerpt(header_[column]);
  check(!text.empty(), "[{}] column {} is empty, expected a number", where(), name);
  check(end == text.data() + text.size(), "[{}] column {} holds {}, expected a number", where(), name, excerpt(text));
  check(error == std::errc(), "[{}] column {} holds {}, expected a number that a double can hold", where(), name,
        excerpt(text));
  fail("[{}] column {} holds {}, expected a finite number", where(), name, excerpt(text));
}

CsvWriter::CsvWriter(const std::filesystem::path& path, std::span<const std::string> header,
                     std::span<const std::string> comments)
    : file_(path), header_(header.begin(), header.end()) {
  check(!header_.empty(), "[{}] has no columns, expected at least one", file_.name());
  for (const std::string& comment : comments) {
    check(comment.find_first_of("\r\n") == std::string::npos, "[{}] got the comment {}, expected one line",
          file_.name(), excerpt(comment));
    file_.write(fmt::format("# {}\n", comment));
  }
  lines_ = static_cast<std::int64_t>(comments.size()) + 1;
  std::string line;
  for (const std::string& name : header_) line += fmt::format("{}{}", line.empty() ? "" : ",", quoted(name));
  file_.write(line + '\n');
}

void CsvWriter::write(std::span<const double> values) {
  const std::size_t columns = header_.size();
  check(values.size() % columns == 0, "[{}] got {} values, expected a multiple of {} columns", file_.name(),
        values.size(), columns);
  fmt::memory_buffer line;
  for (std::size_t begin = 0; begin < values.size(); begin += columns, ++lines_) {
    line.clear();
    for (std::size_t i = 0; i < columns; ++i) {
      const double value = values[begin + i];
      if (!std::isfinite(value))
        fail("[{}:{}] column {} is {}, expected a finite number", file_.name(), lines_ + 1, excerpt(header_[i]), value);
      fmt::format_to(std::back_inserter(line), FMT_COMPILE("{}"), value);
      line.push_back(i + 1 < columns ? ',' : '\n');
    }
    file_.write(std::string_view(line.data(), line.size()));
  }
}

}  // namespace npzoo
