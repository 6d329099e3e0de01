#include "datasets/tables/column_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <unordered_set>

#include "engine/error.h"
#include "engine/io/text.h"

namespace npzoo {

namespace {

using Kind = ColumnSummary::Kind;
using Names = std::vector<std::string>;

/// "a", "b" and "c"; of many the first ones.
std::string listed(const Names& names) {
  constexpr std::size_t kMost = 8;
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), kMost); ++i) {
    const bool last = i + 1 == names.size();
    text += fmt::format("{}{}", i == 0 ? "" : last ? " and " : ", ", in_quotes(names[i]));
  }
  return names.size() > kMost ? fmt::format("{} and {} more", text, names.size() - kMost) : text;
}

bool holds(const Names& names, const std::string& name) { return std::ranges::find(names, name) != names.end(); }

void check_wishes(const Table& table, const ColumnChoice& wishes) {
  Names all = wishes.inputs;
  all.insert(all.end(), wishes.values.begin(), wishes.values.end());
  if (!wishes.group.empty()) all.push_back(wishes.group);
  std::unordered_set<std::string_view> seen;
  for (const std::string& name : all) {
    static_cast<void>(table.format().column(name));
    check(seen.insert(name).second, "[columns] {} is named twice by --inputs, --values and --group", in_quotes(name));
  }
}

/// Columns with a name that nothing is known of yet.
Names open_columns(Table& table, const ColumnChoice& choice, const auto& accept) {
  const std::vector<ColumnSummary>& summaries = table.summaries();
  std::unordered_set<std::string_view> taken{"", choice.group};
  taken.insert(choice.inputs.begin(), choice.inputs.end());
  taken.insert(choice.values.begin(), choice.values.end());
  Names names;
  for (std::size_t i = 0; i < summaries.size(); ++i)
    if (!taken.contains(table.header()[i]) && accept(summaries[i])) names.push_back(table.header()[i]);
  return names;
}

/// For messages: the first column that would be one of numbers or dates, but for a cell.
std::string odd_cell(Table& table, const ColumnChoice& choice) {
  const Names odd = open_columns(table, choice, [](const ColumnSummary& s) { return s.odd_row >= 0; });
  if (odd.empty()) return "";
  const std::size_t column = table.format().column(odd[0]);
  const std::int64_t row = table.summaries()[column].odd_row;
  Cells cells;
  table.format().split(table.text(row), table.line(row), cells);
  return fmt::format("; line {} has {} in column {}, unlike those before", table.line(row),
                     in_quotes(cells.text[column]), in_quotes(odd[0]));
}

bool are_coordinates(const Names& names) {
  constexpr auto kPairs = std::to_array<std::array<std::string_view, 2>>({{"lon", "lat"},
                                                                          {"lng", "lat"},
                                                                          {"long", "lat"},
                                                                          {"longitude", "latitude"},
                                                                          {"x", "y"},
                                                                          {"x1", "x2"},
                                                                          {"easting", "northing"},
                                                                          {"east", "north"}});
  if (names.size() != 2) return false;
  std::array<std::string, 2> small = {names[0], names[1]};
  for (std::string& name : small)
    std::ranges::transform(name, name.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c; });
  return std::ranges::any_of(kPairs, [&](const auto& pair) {
    return (small[0] == pair[0] && small[1] == pair[1]) || (small[0] == pair[1] && small[1] == pair[0]);
  });
}

Names choose_inputs(Table& table, const ColumnChoice& choice, std::optional<std::int64_t> dim_x) {
  const std::string& file = table.format().name();
  const Names times = open_columns(table, choice, [](const ColumnSummary& s) { return s.kind == Kind::time; });
  check(times.size() < 2, "[columns] {} has {} columns of dates, {}, expected --inputs to name the inputs", file,
        times.size(), listed(times));
  if (times.size() == 1 && dim_x.value_or(1) == 1) return times;
  const Names numbers =
      open_columns(table, choice, [](const ColumnSummary& s) { return s.kind == Kind::number && s.missing == 0; });
  check(!numbers.empty(),
        "[columns] {} has no column of dates, nor of numbers without a gap, for an input, expected "
        "--inputs to name it{}",
        file, numbers.empty() ? odd_cell(table, choice) : "");
  const bool fits =
      dim_x ? std::ssize(numbers) == *dim_x && times.empty() : numbers.size() == 1 || are_coordinates(numbers);
  check(fits, "[columns] {}: {} might be {}, expected --inputs to name {}", file, listed(numbers),
        numbers.size() == 1 ? "an input" : "inputs", dim_x ? fmt::format("the {} of the model", *dim_x) : "them");
  return numbers;
}

}  // namespace

ColumnChoice choose_columns(Table& table, const ColumnChoice& wishes, std::optional<std::int64_t> dim_x) {
  check_wishes(table, wishes);
  ColumnChoice choice = wishes;
  const std::string& file = table.format().name();
  if (choice.values.empty()) {
    choice.values =
        open_columns(table, choice, [](const ColumnSummary& s) { return s.kind == Kind::number && s.missing > 0; });
    check(!choice.values.empty(),
          "[columns] {} has no column of numbers with some missing, expected rows to fill and --values, or --targets{}",
          file, choice.values.empty() ? odd_cell(table, choice) : "");
  } else {
    const std::vector<ColumnSummary>& summaries = table.summaries();
    check(
        std::ranges::any_of(choice.values,
                            [&](const std::string& name) { return summaries[*table.format().find(name)].missing > 0; }),
        "[columns] {} misses no value of {}, expected rows to fill, or --targets", file, listed(choice.values));
  }
  if (choice.inputs.empty()) choice.inputs = choose_inputs(table, choice, dim_x);
  return choice;
}

ColumnChoice choose_columns(Table& table, const Table& targets, const ColumnChoice& wishes) {
  check_wishes(table, wishes);
  ColumnChoice choice = wishes;
  if (choice.inputs.empty()) {
    targets.format().check_named();
    for (const std::string& name : targets.header())
      if (name != choice.group && !holds(choice.values, name)) choice.inputs.push_back(name);
    check(!choice.inputs.empty(), "[columns] {} has no column for an input", targets.format().name());
  }
  for (const std::string& name : choice.inputs) {
    static_cast<void>(table.format().column(name));
    static_cast<void>(targets.format().column(name));
  }
  if (!choice.group.empty()) static_cast<void>(targets.format().column(choice.group));
  if (choice.values.empty())
    choice.values = open_columns(table, choice, [](const ColumnSummary& s) { return s.kind == Kind::number; });
  check(!choice.values.empty(),
        "[columns] {} has no column of numbers besides the inputs, expected --values to name one",
        table.format().name());
  return choice;
}

}  // namespace npzoo
