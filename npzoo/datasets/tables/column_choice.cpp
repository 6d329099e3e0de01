#include "npzoo/datasets/tables/column_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <unordered_set>

#include "npzoo/engine/error.h"
#include "npzoo/engine/io/text.h"

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
  all.insert(all.end(), wishes.covariates.begin(), wishes.covariates.end());
  all.insert(all.end(), wishes.date.begin(), wishes.date.end());
  if (!wishes.group.empty()) all.push_back(wishes.group);
  std::unordered_set<std::string_view> seen;
  for (const std::string& name : all) {
    static_cast<void>(table.format().column(name));
    check(seen.insert(name).second,
          "[columns] {} is named twice by --inputs, --values, --covariates, --group and --date", in_quotes(name));
  }
}

/// Columns with a name that nothing is known of yet.
Names open_columns(Table& table, const ColumnChoice& choice, const auto& accept) {
  const std::vector<ColumnSummary>& summaries = table.summaries();
  std::unordered_set<std::string_view> taken{"", choice.group};
  taken.insert(choice.inputs.begin(), choice.inputs.end());
  taken.insert(choice.values.begin(), choice.values.end());
  taken.insert(choice.covariates.begin(), choice.covariates.end());
  taken.insert(choice.date.begin(), choice.date.end());
  Names names;
  for (std::size_t i = 0; i < summaries.size(); ++i)
    if (!taken.contains(table.header()[i]) && accept(summaries[i])) names.push_back(table.header()[i]);
  return names;
}

/// A cell that is not missing.
struct ShownCell {
  std::int64_t row;
  std::string text;
};

/// Returns for every column the first cells that are not missing, at most `kLooked`, among the first rows.
std::vector<std::vector<ShownCell>> first_cells(const Table& table) {
  constexpr std::size_t kLooked = 4;
  constexpr std::int64_t kRows = 64;
  std::vector<std::vector<ShownCell>> found(table.header().size());
  const CellParser parser(table.format(), table.rules());
  Cells cells;
  for (std::int64_t row = 0; row < std::min(table.rows(), kRows); ++row) {
    table.format().split(table.text(row), table.line(row), cells);
    for (std::size_t c = 0; c < found.size(); ++c)
      if (found[c].size() < kLooked && !parser.is_missing(cells.text[c]))
        found[c].push_back({row, std::string(cells.text[c])});
  }
  return found;
}

/// "line 2: column "y" holds "12 %", expected a number"; empty if its reader accepts the column.
std::string complaint(Table& table, std::size_t column) {
  try {
    static_cast<void>(table.numbers(std::array{column}, table.input_forms(std::array{column})));
  } catch (const Error& error) {
    const std::string text = error.what(), begin = fmt::format("[{}:", table.format().name());
    const std::size_t end = text.find("] ", begin.size());
    if (text.starts_with(begin) && end != std::string::npos)
      return fmt::format("line {}: {}", text.substr(begin.size(), end - begin.size()), text.substr(end + 2));
  }
  return "";
}

/// Whether a text may be a number or a date in a notation that is not read, such as 12 % or 13/06/2018.
bool is_nearly_data(const std::string& text) {
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  return looks_like_date(text) || (!is_letter(text.front()) && text.find_first_of("0123456789") != std::string::npos);
}

/// Throws Error if the first row holds neither a number nor a date, and stands above columns of them: a row of units.
void check_units(const Table& table) {
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
  if (unit != all.end())
    fail("[columns] {}: line {} has {} in column {}, unlike those below: if it is a row of units, remove it",
         table.format().name(), table.line(0), in_quotes(unit->front().text),
         table.format().title(static_cast<std::size_t>(unit - all.begin())));
}

/// For messages: the first column that would be one of numbers or dates, but for a cell or its notation.
std::string odd_cell(Table& table, const ColumnChoice& choice) {
  for (const std::string& name : open_columns(table, choice, [](const ColumnSummary& s) { return s.odd_row >= 0; })) {
    const std::size_t column = table.format().column(name);
    const std::int64_t row = table.summaries()[column].odd_row;
    Cells cells;
    table.format().split(table.text(row), table.line(row), cells);
    return fmt::format("; line {} has {} in column {}, unlike those before", table.line(row),
                       in_quotes(cells.text[column]), in_quotes(name));
  }
  const std::vector<std::vector<ShownCell>> first = first_cells(table);
  for (const std::string& name :
       open_columns(table, choice, [](const ColumnSummary& s) { return s.kind == Kind::text; })) {
    const std::size_t column = table.format().column(name);
    if (!first[column].empty() && is_nearly_data(first[column][0].text)) return "; " + complaint(table, column);
  }
  return "";
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

/// A column of dates that cannot be read must not leave its place to any other number.
void check_no_other_dates(Table& table, const ColumnChoice& choice) {
  const std::vector<std::vector<ShownCell>> first = first_cells(table);
  for (const std::string& name :
       open_columns(table, choice, [](const ColumnSummary& s) { return s.kind == Kind::text; })) {
    const std::size_t column = table.format().column(name);
    if (!first[column].empty() && looks_like_date(first[column][0].text))
      fail("[columns] {} has dates in column {} that cannot be read: {}; or name the inputs with --inputs",
           table.format().name(), in_quotes(name), complaint(table, column));
  }
}

/// The columns of dates as ISO 8601 writes them.
Names iso_dates(const Table& table, const Names& times) {
  const std::vector<std::vector<ShownCell>> first = first_cells(table);
  Names found;
  for (const std::string& name : times) {
    const std::vector<ShownCell>& cells = first[table.format().column(name)];
    if (!cells.empty() && parse_date_time(cells[0].text)) found.push_back(name);
  }
  return found;
}

Names choose_inputs(Table& table, const ColumnChoice& choice, std::optional<std::int64_t> dim_x) {
  const std::string& file = table.format().name();
  Names times = open_columns(table, choice, [](const ColumnSummary& s) { return s.kind == Kind::time; });
  if (times.size() > 1)
    if (Names iso = iso_dates(table, times); iso.size() == 1) times = std::move(iso);
  if (times.empty() && dim_x.value_or(1) == 1) check_no_other_dates(table, choice);
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

std::string ColumnChoice::date_name() const { return fmt::format("{}", fmt::join(date, "-")); }

ColumnChoice choose_columns(Table& table, const ColumnChoice& wishes, std::optional<std::int64_t> dim_x) {
  check_wishes(table, wishes);
  check_units(table);
  ColumnChoice choice = wishes;
  const std::string& file = table.format().name();
  if (choice.values.empty()) {
    choice.values =
        open_columns(table, choice, [](const ColumnSummary& s) { return s.kind == Kind::number && s.missing > 0; });
    const Names empty = choice.values.empty() && table.rows() > 0
                            ? open_columns(table, choice, [](const ColumnSummary& s) { return s.kind == Kind::empty; })
                            : Names();
    const std::string odd = choice.values.empty() ? odd_cell(table, choice) : "";
    check(empty.empty() || !odd.empty(), "[columns] {} has no value in {}, expected some rows with one", file,
          listed(empty));
    check(!choice.values.empty(),
          "[columns] {} has no column of numbers with some missing, expected rows to fill and --values, or --targets{}",
          file, odd);
  } else {
    const std::vector<ColumnSummary>& summaries = table.summaries();
    check(
        std::ranges::any_of(choice.values,
                            [&](const std::string& name) { return summaries[*table.format().find(name)].missing > 0; }),
        "[columns] {} misses no value of {}, expected rows to fill, or --targets", file, listed(choice.values));
  }
  if (!choice.date.empty())
    choice.inputs.insert(choice.inputs.begin(), choice.date_name());
  else if (choice.inputs.empty())
    choice.inputs = choose_inputs(table, choice, dim_x);
  return choice;
}

ColumnChoice choose_columns(Table& table, const Table& targets, const ColumnChoice& wishes) {
  check_wishes(table, wishes);
  ColumnChoice choice = wishes;
  if (choice.inputs.empty() && choice.date.empty()) {
    targets.format().check_named();
    for (const std::string& name : targets.header())
      if (name != choice.group && !holds(choice.values, name) && !holds(choice.covariates, name))
        choice.inputs.push_back(name);
    check(!choice.inputs.empty(), "[columns] {} has no column for an input", targets.format().name());
  }
  Names all = choice.inputs;
  all.insert(all.end(), choice.date.begin(), choice.date.end());
  for (const std::string& name : all) {
    static_cast<void>(table.format().column(name));
    static_cast<void>(targets.format().column(name));
  }
  for (const std::string& name : choice.covariates) static_cast<void>(targets.format().column(name));
  if (!choice.group.empty()) static_cast<void>(targets.format().column(choice.group));
  if (choice.values.empty())
    choice.values = open_columns(table, choice, [](const ColumnSummary& s) { return s.kind == Kind::number; });
  check(!choice.values.empty(),
        "[columns] {} has no column of numbers besides the inputs, expected --values to name one",
        table.format().name());
  if (!choice.date.empty()) choice.inputs.insert(choice.inputs.begin(), choice.date_name());
  return choice;
}

}  // namespace npzoo
