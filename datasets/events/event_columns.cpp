#include "npzoo/datasets/events/event_columns.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "npzoo/datasets/tables/table_reader.h"
#include "npzoo/datasets/tables/text_parts.h"
#include "npzoo/engine/error.h"
#include "npzoo/engine/io/parse_number.h"
#include "npzoo/engine/io/text.h"
#include "npzoo/engine/words.h"

namespace npzoo {

namespace {

constexpr const char* kSequence = "sequence";
constexpr const char* kTime = "time";
constexpr const char* kMark = "mark";

std::vector<std::string> columns_of(Table& table, ColumnSummary::Kind kind) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < table.format().columns(); ++i)
    if (table.summaries()[i].kind == kind) names.push_back(table.header()[i]);
  return names;
}

std::string name_or_none(const Table& table, const std::optional<std::string>& named, const char* usual) {
  return named ? *named : table.format().find(usual) ? usual : "";
}

std::optional<double> number_of(std::string_view cell) {
  double value = 0;
  const bool all = !cell.empty() && parse_number(cell, value).ptr == cell.data() + cell.size();
  return all ? std::optional(value) : std::nullopt;
}

/// False for a value such as 73.5: kinds of events are whole numbers or words.
bool may_be_kinds(const Table& table, std::size_t column) {
  return std::ranges::all_of(table.labels(column).names, [](const std::string& cell) {
    const auto number = number_of(cell);
    return !number || *number == std::floor(*number);
  });
}

/// False where a cell begins like a number, such as 3.2 mm, and where there are many words or none occurs twice: those
/// may be values, names or remarks.
bool are_kinds(const Table& table, std::size_t column) {
  constexpr std::size_t kMostKinds = 8;
  const std::vector<std::string> words = table.labels(column).names;
  return words.size() <= kMostKinds && std::ssize(words) < table.rows() &&
         std::ranges::all_of(words, [](const std::string& word) { return is_letter(word.front()); });
}

/// False for a number in a column that is not called as those of events are.
bool first_row_may_be_an_event(const std::filesystem::path& path) {
  constexpr std::size_t kMostColumns = 3;
  TableReader reader(path);
  const TableFormat& format = reader.format();
  if (format.columns() > kMostColumns || !reader.next()) return false;
  for (std::size_t i = 0; i < format.columns(); ++i) {
    const std::string& name = format.header()[i];
    if (number_of(trim(reader.cells()[i])) && name != kSequence && name != kTime && name != kMark) return false;
  }
  return true;
}

}  // namespace

EventColumns choose_event_columns(Table& table, const NamedEventColumns& named, const char* time_flag) {
  EventColumns columns{.sequence = name_or_none(table, named.sequence, kSequence),
                       .time = name_or_none(table, named.time, kTime),
                       .mark = name_or_none(table, named.mark, kMark)};
  if (columns.time.empty()) {
    const std::vector<std::string> dates = columns_of(table, ColumnSummary::Kind::time);
    check(dates.size() == 1,
          "[events] {} has {} of dates and none called time, expected {} to name the column of times: one of {}",
          table.format().name(), counted(std::ssize(dates), "column"), time_flag, fmt::join(table.header(), ", "));
    columns.time = dates[0];
  }
  if (!named.mark && columns.mark.empty()) {
    std::vector<std::string> words = columns_of(table, ColumnSummary::Kind::text);
    std::erase(words, columns.sequence);
    std::erase(words, columns.time);
    if (words.size() == 1) columns.mark = words[0];
  }
  for (const std::string& name : {columns.sequence, columns.time, columns.mark})
    if (!name.empty()) static_cast<void>(table.format().column(name));
  columns.times = table.input_forms(std::array{table.format().column(columns.time)})[0];
  return columns;
}

bool holds_events(const std::filesystem::path& path, const CellRules& rules) {
  if (!first_row_may_be_an_event(path)) return false;
  Table table = Table::read(path, {.cells = rules});
  const std::vector<ColumnSummary>& summaries = table.summaries();
  std::size_t times = 0, others = 0;
  for (std::size_t i = 0; i < summaries.size(); ++i) {
    const std::string& name = table.header()[i];
    const ColumnSummary& column = summaries[i];
    if (column.missing > 0 || (name == kMark && !may_be_kinds(table, i))) return false;
    if (name == kSequence || name == kMark || (column.kind == ColumnSummary::Kind::text && are_kinds(table, i)))
      ++others;
    else if (column.kind == ColumnSummary::Kind::time ? !column.clock : name == kTime)
      ++times;
  }
  return times == 1 && times + others == summaries.size();
}

}  // namespace npzoo
