#include "npzoo/datasets/tables/column_hints.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "npzoo/datasets/tables/flag_text.h"
#include "npzoo/datasets/tables/month_names.h"
#include "npzoo/datasets/tables/outliers.h"
#include "npzoo/datasets/tables/text_parts.h"
#include "npzoo/engine/error.h"
#include "npzoo/engine/io/parse_number.h"
#include "npzoo/engine/io/text.h"

namespace npzoo {

namespace {

using Kind = ColumnSummary::Kind;
using Names = std::vector<std::string>;

/// inf and nan are no marks, but numbers that are not finite.
bool is_infinite(std::string_view cell) {
  double value = 0;
  return parse_number(cell, value).ptr == cell.data() + cell.size();
}

/// The texts without a digit that stand among the numbers of a column, if these are most of its cells: marks of missing
/// values, such as n/e. At most three; none if there are more.
Names marks_in(Table& table, std::size_t column) {
  constexpr std::size_t kMost = 3;
  CellParser parser(table.format(), table.rules());
  Names marks;
  std::int64_t numbers = 0, others = 0;
  Cells cells;
  for (std::int64_t row = 0; row < table.rows(); ++row) {
    table.format().split(table.text(row), table.line(row), cells);
    const std::string_view cell = trim(cells.text[column]);
    if (parser.is_missing(cell)) continue;
    if (parser.kind_of(cell) == ColumnForm::Kind::number) {
      ++numbers;
      continue;
    }
    ++others;
    if (std::ranges::any_of(cell, is_digit) || is_infinite(cell)) return {};
    if (std::ranges::find(marks, cell) == marks.end()) marks.emplace_back(cell);
    if (marks.size() > kMost) return {};
  }
  return numbers >= others ? marks : Names();
}

std::string missing_flags(const Names& marks) {
  std::string flags;
  for (const std::string& mark : marks) flags += " --missing " + flag_value(mark);
  return marks.empty() ? "" : "; if it stands for a missing value, use" + flags;
}

}  // namespace

std::string missing_hint(Table& table, std::size_t column) { return missing_flags(marks_in(table, column)); }

bool names_time(const std::string& name) {
  constexpr std::size_t kYear = 4;
  return (name.size() == kYear && are_digits(name)) || month_of(name) > 0 || parse_date_time(name);
}

std::string wide_hint(std::span<const std::string> names) {
  constexpr std::size_t kFewest = 3;
  Names times;
  std::ranges::copy_if(names, std::back_inserter(times), names_time);
  if (times.size() < kFewest) return "";
  return fmt::format("; {} name times: put them into a column of their own, with the values beside them (pandas.melt)",
                     quoted_list(times));
}

std::string far_number_hint(Table& table, std::span<const std::string> columns) {
  constexpr std::size_t kMost = 64;
  for (const std::string& name : columns.first(std::min(columns.size(), kMost))) {
    const std::size_t column = table.format().column(name);
    if (table.summaries()[column].kind != Kind::number) continue;
    const std::vector<NumberColumn> read = table.numbers({&column, 1}, {});
    std::vector<double> known;
    std::ranges::copy_if(read[0].values, std::back_inserter(known), [](double y) { return !std::isnan(y); });
    if (const auto far = far_values(known))
      return fmt::format(
          "; {} is {} in {} row{}, far from all others: use --missing {} if it stands for a missing value",
          in_quotes(name), far->furthest, far->count, far->count == 1 ? "" : "s", far->furthest);
  }
  return "";
}

void check_marks(Table& table, std::span<const std::string> values) {
  for (const std::string& name : values) {
    const std::size_t column = table.format().column(name);
    const ColumnSummary& summary = table.summaries()[column];
    if (summary.kind != Kind::text) continue;
    const Names marks = marks_in(table, column);
    if (marks.empty()) continue;
    Cells cells;
    for (std::int64_t row = 0; row < table.rows(); ++row) {
      table.format().split(table.text(row), table.line(row), cells);
      if (cells.text[column] == marks[0])
        fail("[{}:{}] column {} holds {}, expected a number{}", table.format().name(), table.line(row),
             table.format().title(column), in_quotes(marks[0]), missing_flags(marks));
    }
  }
}

}  // namespace npzoo
