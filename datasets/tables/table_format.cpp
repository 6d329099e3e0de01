#include "npzoo/datasets/tables/table_format.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "npzoo/datasets/tables/date_time.h"
#include "npzoo/datasets/tables/table_start.h"
#include "npzoo/engine/error.h"
#include "npzoo/engine/io/parse_number.h"
#include "npzoo/engine/io/text.h"

namespace npzoo {

namespace {

constexpr std::string_view kUnnamedColumn = "row";  // in front

bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

std::string joined(std::span<const std::string> names) {
  constexpr std::size_t kMost = 12;
  std::string list;
  for (const std::string& name : names.first(std::min(names.size(), kMost)))
    list += fmt::format("{}{}", list.empty() ? "" : ", ", in_quotes(name));
  return names.size() > kMost ? fmt::format("{} and {} more", list, names.size() - kMost) : list;
}

bool is_data(std::string_view text) {
  if (parse_date_time(text)) return true;
  if (text.size() > 1 && text.front() == '+' && text[1] != '-') text.remove_prefix(1);
  double value;
  return !text.empty() && parse_number(text, value).ptr == text.data() + text.size();
}

std::string shown(char separator) { return separator == '\t' ? "a tab" : fmt::format("\"{}\"", separator); }

/// A name that a file breaks into lines, as one line.
std::string without_breaks(std::string_view name) {
  std::string line;
  for (std::size_t begin = 0; begin < name.size();) {
    const std::size_t end = std::min(name.find_first_of("\r\n", begin), name.size());
    const std::string_view part = trim(name.substr(begin, end - begin));
    if (!part.empty()) line.append(line.empty() ? "" : " ").append(part);
    begin = end + 1;
  }
  return line;
}

char separator_of(std::string_view header, const std::string& where) {
  const std::string found = separators_in(header);
  if (found.size() > 1)
    fail("[{}] has {} and {} between its names, expected one separator, and quotes around names that hold another",
         where, shown(found[0]), shown(found[1]));
  return found.empty() ? ',' : found[0];
}

}  // namespace

TableFormat::TableFormat(std::string name, std::int64_t line, std::string_view header, std::optional<char> separator,
                         std::optional<std::size_t> two_words)
    : name_(std::move(name)),
      line_(line),
      separator_(separator ? *separator : separator_of(header, fmt::format("{}:{}", name_, line))) {
  Cells cells;
  if (separator_ == ' ')
    split_blanks(header, line, cells);
  else
    split_quoted(header, line, cells);
  for (const std::string_view cell : cells.text)
    header_.push_back(cell.find('\n') == std::string_view::npos ? std::string(cell) : without_breaks(cell));
  two_words_ = two_words;
  for (std::size_t i = 0; i < header_.size(); ++i)
    check(std::ranges::none_of(header_[i], is_control),
          "[{}] column {} has a control character in its name, expected UTF-8 text", where(line_), title(i));
  sort_names();
  // Taking a row of data for the names would lose it without a word.
  check(by_name_.empty() || !std::ranges::all_of(by_name_, is_data, [this](std::size_t i) { return header_[i]; }),
        "[{}] holds only numbers, expected column names: add a line of names above it", where(line_));
  check(!by_name_.empty() || header_.size() > 1, "[{}] column 1 has no name", where(line_));
}

TableFormat::TableFormat(std::string name, std::int64_t line, std::vector<std::string> header)
    : name_(std::move(name)), line_(line), separator_(','), header_(std::move(header)) {
  sort_names();
}

std::string TableFormat::where(std::int64_t line) const { return fmt::format("{}:{}", name_, line); }

std::string TableFormat::title(std::size_t column) const {
  const bool named = column < header_.size() && !header_[column].empty();
  return named ? in_quotes(header_[column]) : fmt::format("{}", column + 1);
}

void TableFormat::sort_names() {
  const auto name = [this](std::size_t column) -> const std::string& { return header_[column]; };
  for (std::size_t i = 0; i < header_.size(); ++i)
    if (!header_[i].empty()) by_name_.push_back(i);
  std::ranges::sort(by_name_, {}, name);
  const auto twice = std::ranges::adjacent_find(by_name_, {}, name);
  check(twice == by_name_.end(), "[{}] has two columns {}", where(line_),
        twice == by_name_.end() ? "" : in_quotes(name(*twice)));
}

void TableFormat::check_named() const {
  for (std::size_t i = 0; i < header_.size(); ++i)
    check(!header_[i].empty(), "[{}] column {} has no name", where(line_), i + 1);
}

std::optional<std::size_t> TableFormat::find(std::string_view name) const {
  const auto name_of = [this](std::size_t column) -> std::string_view { return header_[column]; };
  const auto at = std::ranges::lower_bound(by_name_, name, {}, name_of);
  if (at != by_name_.end() && name_of(*at) == name) return *at;
  return header_.size() > 1 && header_[0].empty() && name == kUnnamedColumn ? std::optional<std::size_t>(0)
                                                                            : std::nullopt;
}

std::size_t TableFormat::column(std::string_view name) const {
  const auto found = find(name);
  check(found.has_value(), "[{}] has no column {}, found {}", where(line_), in_quotes(name), joined(header_));
  return *found;
}

void TableFormat::split(std::string_view row, std::int64_t line, Cells& cells) const {
  cells.text.clear();
  if (separator_ == ' ') {
    split_blanks(row, line, cells);
  } else if (row.find('"') != std::string_view::npos) {
    split_quoted(row, line, cells);
  } else {
    std::size_t begin = 0;
    for (std::size_t end = row.find(separator_); end != std::string_view::npos; end = row.find(separator_, begin)) {
      cells.text.push_back(trim(row.substr(begin, end - begin)));
      begin = end + 1;
    }
    cells.text.push_back(trim(row.substr(begin)));
  }
  const std::size_t found = cells.text.size();
  if (found != columns() && (columns() == 1 || separator_ == ' '))
    fail("[{}] found {} fields, expected {}; use --skip-rows if the names of the columns are not in line {}",
         where(line), found, columns(), line_);
  if (found < columns())
    fail("[{}] column {} is missing, found {} fields, expected {}", where(line), title(found), found, columns());
  if (found > columns())
    fail("[{}] has more fields after the last column {}, found {} fields, expected {}", where(line),
         title(columns() - 1), found, columns());
}

void TableFormat::split_blanks(std::string_view row, std::int64_t line, Cells& cells) const {
  constexpr std::string_view kBlanks = " \t";
  cells.text.clear();
  for (std::size_t begin = row.find_first_not_of(kBlanks); begin != std::string_view::npos;) {
    const bool quoted = row[begin] == '"';
    std::size_t end = quoted ? row.find('"', begin + 1) : row.find_first_of(kBlanks, begin);
    check(!quoted || end != std::string_view::npos, "[{}] column {} has an opening quote and no closing one",
          where(line), title(cells.text.size()));
    cells.text.push_back(row.substr(begin + quoted, end == std::string_view::npos ? end : end - begin - quoted));
    if (end != std::string_view::npos) end += quoted;
    begin = end == std::string_view::npos ? end : row.find_first_not_of(kBlanks, end);
  }
  if (!two_words_ || cells.text.size() != columns() + 1) return;
  const auto date = cells.text.begin() + static_cast<std::ptrdiff_t>(*two_words_);
  cells.unquoted.assign(1, fmt::format("{} {}", *date, date[1]));
  *date = cells.unquoted[0];
  cells.text.erase(date + 1);
}

void TableFormat::split_quoted(std::string_view row, std::int64_t line, Cells& cells) const {
  cells.text.clear();
  cells.unquoted.clear();
  const auto leading = [this](std::string_view text) {
    const std::size_t at = text.find_first_not_of(separator_ == '\t' ? " " : " \t");
    return text.substr(std::min(at, text.size()));
  };
  for (bool more = true; more;) {
    row = leading(row);
    std::string_view cell = row.substr(0, row.find(separator_));
    if (row.starts_with('"')) {
      std::size_t close = row.find('"', 1);
      bool doubled = false;
      for (; close < row.size() && row.substr(close + 1).starts_with('"'); doubled = true)
        close = row.find('"', close + 2);
      check(close < row.size(), "[{}] column {} has an opening quote and no closing one", where(line),
            title(cells.text.size()));
      cell = row.substr(1, close - 1);
      if (doubled) {
        std::string plain;
        for (std::size_t i = 0; i < cell.size(); i += cell[i] == '"' ? 2 : 1) plain += cell[i];
        cell = cells.unquoted.emplace_back(std::move(plain));
      }
      row = leading(row.substr(close + 1));
      check(row.empty() || row.front() == separator_, "[{}] column {} has text after its closing quote", where(line),
            header_.empty() ? in_quotes(cell) : title(cells.text.size()));
    } else {
      row.remove_prefix(cell.size());
      cell = trim(cell);
    }
    cells.text.push_back(cell);
    more = !row.empty();
    if (more) row.remove_prefix(1);
  }
}

TableFormat::At TableFormat::after(std::string_view text, At from) const {
  At at = from;
  if (at != At::quoted && text.find('"') == std::string_view::npos) return At::plain;
  for (const char c : text) {
    if (at == At::quoted)
      at = c == '"' ? At::closed : At::quoted;
    else if (c == separator_)
      at = At::start;
    else if (c == '"' && at != At::plain)  // behind a closed one it is a doubled quote
      at = At::quoted;
    else if (at != At::start || !(c == ' ' || c == '\t'))
      at = At::plain;
  }
  return at;
}

}  // namespace npzoo
