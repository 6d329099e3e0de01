#include "npzoo/datasets/tables/column_hints.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <unordered_set>
#include <vector>

#include "npzoo/datasets/tables/column_facts.h"
#include "npzoo/datasets/tables/flag_text.h"
#include "npzoo/datasets/tables/month_names.h"
#include "npzoo/datasets/tables/number_text.h"
#include "npzoo/datasets/tables/outliers.h"
#include "npzoo/datasets/tables/text_parts.h"
#include "npzoo/datasets/tables/unread_dates.h"
#include "npzoo/engine/error.h"
#include "npzoo/engine/io/text.h"

namespace npzoo {

namespace {

using Kind = ColumnSummary::Kind;
using Names = std::vector<std::string>;

/// The texts without a digit that stand among the numbers of a column, if these are most of its cells: marks of missing
/// values, such as n/e. None if there are more than twelve, or more than three in a column of many texts.
Names marks_in(Table& table, std::size_t column) {
  constexpr std::size_t kFew = 3, kMost = 12;
  constexpr std::int64_t kRare = 4;
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
    // Errors of spreadsheets may have digits: #DIV/0!
    if (!cell.starts_with('#') && std::ranges::any_of(cell, is_digit)) return {};
    if (std::ranges::find(marks, cell) == marks.end()) marks.emplace_back(cell);
    if (marks.size() > kMost) return {};
  }
  return numbers >= (marks.size() > kFew ? kRare : 1) * others ? marks : Names();
}

std::string missing_flags(const Names& marks) {
  std::string flags;
  for (const std::string& mark : marks) flags += " --missing " + flag_value(mark);
  return marks.empty() ? "" : "; if it stands for a missing value, use" + flags;
}

}  // namespace

bool is_nearly_data(const std::string& text) {
  return looks_like_date(text) || !advice_on_signs(text).empty() ||
         (!is_letter(text.front()) && !is_numbered_name(text) && text.find_first_of("0123456789") != std::string::npos);
}

std::string missing_hint(Table& table, std::size_t column) { return missing_flags(marks_in(table, column)); }

bool names_time(const std::string& name) {
  constexpr std::size_t kYear = 4;
  return (name.size() == kYear && are_digits(name)) || month_of(name) > 0 || parse_date_time(name);
}

std::string wide_advice(std::span<const std::string> names) {
  constexpr std::size_t kFewest = 3, kMostListed = 4;
  Names times;
  std::ranges::copy_if(names, std::back_inserter(times), names_time);
  if (times.size() < kFewest) return "";
  const std::string list = times.size() > kMostListed
                               ? fmt::format("{} columns such as {}", times.size(), in_quotes(times.front()))
                               : quoted_list(times);
  return list + " name times: put them into a column of their own, with the values beside them (pandas.melt)";
}

std::string wide_hint(std::span<const std::string> names) {
  const std::string advice = wide_advice(names);
  return advice.empty() ? "" : "; " + advice;
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

std::string footer_hint(Table& table, std::size_t column) {
  constexpr std::int64_t kMost = 5;
  const std::int64_t first = table.summaries()[column].odd_row, last = table.rows() - 1;
  if (first < 2 || last - first >= kMost) return "";
  Cells cells;
  for (std::int64_t row = first; row <= last; ++row) {
    table.format().split(table.text(row), table.line(row), cells);
    const std::string_view cell = trim(cells.text[column]);
    if (cell.empty() || !is_letter(cell.front()) || cell.find_first_of("0123456789") != cell.npos) return "";
  }
  return first == last ? fmt::format("; if it is no row of the table, delete line {}", table.line(first))
                       : fmt::format("; if the table ends above, delete the lines from {} on", table.line(first));
}

namespace {

/// Throws Error if a row below the first line has the names of columns: different words in all cells, above a column
/// whose first numbers or dates are in the next rows.
void check_names_below(const Table& table) {
  constexpr std::int64_t kMost = 30, kRowsBelow = 3;
  enum class Cell : std::uint8_t { missing, data, word };
  CellParser parser(table.format(), table.rules());
  const std::size_t columns = table.format().columns();
  std::vector<std::vector<Cell>> rows;
  std::vector<bool> different_words;
  Cells cells;
  for (std::int64_t row = 0; row < std::min(kMost + kRowsBelow, table.rows()); ++row) {
    table.format().split(table.text(row), table.line(row), cells);
    std::unordered_set<std::string_view> different;
    std::vector<Cell>& kinds = rows.emplace_back();
    for (const std::string_view text : cells.text) {
      const std::string_view cell = trim(text);
      const bool word = parser.kind_of(cell) == ColumnForm::Kind::unknown && !is_nearly_data(std::string(cell));
      kinds.push_back(parser.is_missing(cell) ? Cell::missing : word ? Cell::word : Cell::data);
      different.insert(cell);
    }
    different_words.push_back(different.size() == columns &&
                              std::ranges::count(kinds, Cell::word) == std::ssize(kinds));
  }
  for (std::size_t row = 1; columns > 1 && row + kRowsBelow < rows.size(); ++row) {
    if (!different_words[row]) continue;
    for (std::size_t c = 0; c < columns; ++c) {
      const auto is = [c](Cell kind) {
        return [=](const std::vector<Cell>& cells_of_row) { return cells_of_row[c] == kind; };
      };
      const auto at = rows.begin() + static_cast<std::ptrdiff_t>(row);
      if (std::ranges::all_of(rows.begin(), at + 1, is(Cell::word)) &&
          std::ranges::all_of(at + 1, at + 1 + kRowsBelow, is(Cell::data)))
        fail(
            "[columns] {}: line {} holds words alone above numbers or dates, expected a row; if it has the names of "
            "the columns, use --skip-rows {}",
            table.format().name(), table.line(static_cast<std::int64_t>(row)),
            table.line(static_cast<std::int64_t>(row)) - 1);
    }
  }
}

}  // namespace

void check_units(const Table& table) {
  check_names_below(table);
  CellParser parser(table.format(), table.rules());
  const auto is_data = [&](const ShownCell& cell) { return parser.kind_of(cell.text) != ColumnForm::Kind::unknown; };
  const std::vector<std::vector<ShownCell>> all = first_cells(table);
  const auto is_above_data = [&](const std::vector<ShownCell>& cells) {
    return cells.size() > 2 && cells[0].row == 0 && std::ranges::all_of(cells.begin() + 1, cells.end(), is_data);
  };
  if (std::ranges::any_of(all, [&](const auto& cells) {
        return !cells.empty() && cells[0].row == 0 && (is_data(cells[0]) || is_nearly_data(cells[0].text));
      }))
    return;
  const auto unit = std::ranges::find_if(all, is_above_data);
  if (unit == all.end()) return;
  const std::string_view cell = unit->front().text;
  const std::string begin =
      fmt::format("[columns] {}: line {} has {} in column {}, unlike those below", table.format().name(), table.line(0),
                  in_quotes(cell), table.format().title(static_cast<std::size_t>(unit - all.begin())));
  const std::int64_t rows = (*unit)[1].row;  // above numbers and dates
  if (rows > 1)
    fail("{}: if these are no rows of the table, remove the lines from {} to {}", begin, table.line(0),
         table.line(rows - 1));
  if (std::ranges::none_of(cell, [](char c) { return is_letter(c) || is_digit(c) || c == '%'; }))
    fail("{}: if it is a line between names and rows, remove it", begin);
  fail("{}: if it is a row of units, remove it; if it has the names of the columns, use --skip-rows {}", begin,
       table.line(0) - 1);
}

std::string odd_cell(Table& table, const ColumnChoice& choice) {
  constexpr std::int64_t kFewestRows = 3;  // of which a word at the top may be a mark
  const std::vector<std::vector<ShownCell>> first = first_cells(table);
  for (const std::string& name : open_columns_of(table, choice, Kind::text)) {
    const std::size_t column = table.format().column(name);
    const std::int64_t row = table.summaries()[column].odd_row;
    if (row < 0) {
      if (const std::string hint = missing_hint(table, column); !hint.empty() && table.rows() >= kFewestRows)
        return fmt::format("; column {} begins with {} above numbers{}", in_quotes(name),
                           in_quotes(first[column][0].text), hint);
      continue;
    }
    Cells cells;
    table.format().split(table.text(row), table.line(row), cells);
    const std::string advice = advice_on_signs(cells.text[column]);
    return fmt::format("; line {} has {} in column {}, unlike those before{}", table.line(row),
                       in_quotes(cells.text[column]), in_quotes(name),
                       advice.empty() ? missing_hint(table, column) + footer_hint(table, column) : "; " + advice);
  }
  for (const std::string& name : open_columns_of(table, choice, Kind::text)) {
    const std::size_t column = table.format().column(name);
    if (first[column].empty() || !is_nearly_data(first[column][0].text)) continue;
    const std::string text = complaint(table, column);
    if (text.empty() && table.summaries()[column].missing == 0) continue;  // names of stations
    return text.empty() ? fmt::format("; column {} holds texts such as {}, expected numbers", in_quotes(name),
                                      in_quotes(first[column][0].text))
                        : "; " + text;
  }
  return "";
}

std::string other_gaps(Table& table, const ColumnChoice& choice) {
  const std::vector<std::vector<ShownCell>> first = first_cells(table);
  for (const std::string& name : open_columns(facts_of(table), choice, [](const ColumnFacts& c) {
         return c.missing > 0 && (c.kind == Kind::time || c.kind == Kind::text);
       })) {
    const std::size_t column = table.format().column(name);
    if (first[column].empty()) continue;
    const bool times = table.summaries()[column].kind == Kind::time;
    return fmt::format("; column {} has gaps and holds {} such as {}, expected numbers{}", in_quotes(name),
                       times ? "times" : "words", in_quotes(first[column][0].text),
                       times ? ", such as seconds" : ", such as 0 and 1 for two words");
  }
  return "";
}

std::string input_hint(Table& table, const ColumnChoice& choice) {
  const std::vector<ColumnSummary>& summaries = table.summaries();
  for (std::size_t c = 0; c < summaries.size(); ++c)
    if (table.header()[c].empty() && summaries[c].kind == Kind::number && summaries[c].missing == 0)
      return fmt::format("; column {} has no name: name it to use it as the input", c + 1);
  const std::vector<std::vector<ShownCell>> first = first_cells(table);
  for (const std::string& name : open_columns_of(table, choice, Kind::text)) {
    const std::size_t column = table.format().column(name);
    if (first[column].empty() || summaries[column].missing > 0) continue;
    return fmt::format("; column {} holds words such as {}: if rows are in order, number them in a column of their own",
                       in_quotes(name), in_quotes(first[column][0].text));
  }
  return "";
}

}  // namespace npzoo
