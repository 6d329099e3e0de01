#include "npzoo/datasets/tables/column_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <string_view>
#include <unordered_set>

#include "npzoo/datasets/tables/column_facts.h"
#include "npzoo/datasets/tables/column_hints.h"
#include "npzoo/datasets/tables/date_columns.h"
#include "npzoo/datasets/tables/flag_text.h"
#include "npzoo/datasets/tables/inputs_of_rows.h"
#include "npzoo/datasets/tables/number_text.h"
#include "npzoo/datasets/tables/series_columns.h"
#include "npzoo/datasets/tables/text_parts.h"
#include "npzoo/datasets/tables/unread_dates.h"
#include "npzoo/engine/error.h"
#include "npzoo/engine/io/text.h"

namespace npzoo {

namespace {

using Kind = ColumnSummary::Kind;
using Names = std::vector<std::string>;

Names groups_in(const Table& table, const ColumnChoice& choice) {
  return group_names(choice.group, [&](const std::string& name) { return table.format().find(name).has_value(); });
}

void check_wishes(const Table& table, const ColumnChoice& wishes) {
  Names all = wishes.inputs;
  all.insert(all.end(), wishes.values.begin(), wishes.values.end());
  all.insert(all.end(), wishes.covariates.begin(), wishes.covariates.end());
  all.insert(all.end(), wishes.date.begin(), wishes.date.end());
  for (std::string& name : groups_in(table, wishes)) all.push_back(std::move(name));
  std::unordered_set<std::string_view> seen;
  for (const std::string& name : all) {
    static_cast<void>(table.format().column(name));
    check(seen.insert(name).second,
          "[columns] {} is named twice by --inputs, --values, --covariates, --group and --date", in_quotes(name));
  }
}

/// Takes columns of targets that the table lacks from the inputs, if they hold words: they only name rows.
void leave_out_names(const Table& table, const Table& targets, Names& inputs) {
  const std::vector<std::vector<ShownCell>> first = first_cells(targets);
  CellParser parser(targets.format(), targets.rules());
  const auto is_word = [&](const ShownCell& cell) {
    return parser.kind_of(cell.text) == ColumnForm::Kind::unknown && !is_nearly_data(cell.text);
  };
  Names unknown, kept;
  for (const std::string& name : inputs) {
    if (table.format().find(name)) {
      kept.push_back(name);
      continue;
    }
    const std::vector<ShownCell>& cells = first[targets.format().column(name)];
    if (cells.empty() || !std::ranges::all_of(cells, is_word)) unknown.push_back(name);
  }
  if (!unknown.empty() && !kept.empty())
    fail("[{}:{}] has no column {}, which {} has; to ignore it, use --inputs {}", table.format().name(),
         table.format().header_line(), in_quotes(unknown[0]), targets.format().name(), flag_list(kept));
  if (!kept.empty()) inputs = std::move(kept);
}

/// Times of day go on from row to row, or back: where they begin anew, their dates are missing.
void check_clock(const Table& table, const ColumnChoice& choice, const RowKeys& rows) {
  if (choice.inputs.size() > 1) return;
  std::vector<double> last(std::max<std::size_t>(1, rows.groups.size()), std::numeric_limits<double>::quiet_NaN());
  std::vector<int> direction(last.size());
  for (std::size_t i = 0; i < rows.x.size(); ++i) {
    const std::size_t g = rows.of_rows.empty() ? 0 : rows.of_rows[i];
    const int turn = rows.x[i] > last[g] ? 1 : rows.x[i] < last[g] ? -1 : 0;
    if (turn != 0 && direction[g] == -turn)
      fail(
          "[{}:{}] the times in column {} begin anew, expected their dates, too: --date and the columns of date and "
          "time",
          table.format().name(), table.line(static_cast<std::int64_t>(i)), in_quotes(choice.inputs[0]));
    if (turn != 0) direction[g] = turn;
    last[g] = rows.x[i];
  }
}

/// Throws Error for a table that has no column for an input at all.
[[noreturn]] void fail_without_input(Table& table, const ColumnChoice& choice) {
  const std::string odd = odd_cell(table, choice);
  if (odd.empty()) check_row_texts(table, choice, "");
  fail(
      "[columns] {} has no column for an input, expected one of times, or of numbers such as 1, 2, 3 and so on beside "
      "the values{}",
      table.format().name(), odd);
}

Names choose_inputs(Table& table, const ColumnChoice& choice, std::optional<std::int64_t> dim_x) {
  using Doubt = OpenInputs::Doubt;
  const std::string& file = table.format().name();
  if (const auto input = dim_x.value_or(1) == 1 ? input_beside_clocks(table, choice) : std::nullopt) return {*input};
  const OpenInputs found = open_inputs(facts_of(table), choice, dim_x);
  if (!found.dates && dim_x.value_or(1) == 1) check_no_other_dates(table, choice);
  if (found.doubt == Doubt::dates)
    fail("[columns] {} has {} columns of dates, {}, expected one of them: --inputs {} or --inputs {}", file,
         found.names.size(), quoted_list(found.names), flag_list(std::array{found.names[0]}),
         flag_list(std::array{found.names[1]}));
  if (found.doubt == Doubt::nothing) {
    check_unread_dates(table, choice);
    const std::string odd = odd_cell(table, choice);
    if (table.format().columns() == choice.values.size()) fail_without_input(table, choice);
    if (odd.empty()) check_row_texts(table, choice, "");
    fail(
        "[columns] {} has no column of dates, nor of numbers without a gap, for an input, expected --inputs to name "
        "it{}{}",
        file, odd.empty() ? input_hint(table, choice) : odd, wide_hint(table.header()));
  }
  if (found.doubt == Doubt::none && !found.dates) check_no_codes(table, found.names);
  if (found.doubt == Doubt::none && !found.dates && !dim_x && found.names.size() == 1)
    check_row_texts(table, choice, found.names[0]);
  const std::string wide = found.dates ? "" : wide_hint(table.header());
  if (found.doubt == Doubt::none) {
    check(wide.empty() || !names_time(found.names[0]),
          "[columns] {}: no column but {} might be an input, expected --inputs to name one{}", file,
          in_quotes(found.names[0]), wide);
    return found.names;
  }
  const Names places = coordinates_among(found.names);
  fail("[columns] {}: {} might be {}, expected --inputs to name {}{}{}", file, quoted_list(found.names),
       found.names.size() == 1 ? "an input" : "inputs", dim_x ? fmt::format("the {} of the model", *dim_x) : "them",
       dim_x ? "" : ", or --inputs none to predict from all columns of a row",
       places.empty() ? wide : ": such as --inputs " + flag_list(places));
}

/// Throws Error if one of the columns that seem to be values is a year or a place, of which some cells are blank.
void check_blank_inputs(Table& table, const ColumnChoice& choice) {
  constexpr auto kYears = std::to_array<std::string_view>({"year", "yyyy", "yr", "jahr", "anno"});
  const auto is_year = [&](std::string name) {
    std::ranges::transform(name, name.begin(), small_letter);
    return std::ranges::find(kYears, name) != kYears.end();
  };
  const auto has = [&](bool (*is)(std::string_view)) { return std::ranges::any_of(choice.values, is); };
  const bool places = choice.values.size() > 2 && has(is_longitude) && has(is_latitude);
  for (const std::string& name : choice.values) {
    const bool year = choice.values.size() > 1 && is_year(name);
    if (!year && !(places && (is_longitude(name) || is_latitude(name)))) continue;
    fail(
        "[columns] {}: {} is blank in {} of {} rows, expected a {} in each row, or --values to name the columns to "
        "fill",
        table.format().name(), in_quotes(name), table.summaries()[table.format().column(name)].missing, table.rows(),
        year ? "year" : "coordinate");
  }
}

/// Adds the values that wishes leave open.
ColumnChoice with_values(Table& table, const ColumnChoice& wishes) {
  check_wishes(table, wishes);
  check_units(table);
  ColumnChoice choice = wishes;
  const std::string& file = table.format().name();
  if (choice.values.empty()) {
    choice.values = open_values(facts_of(table), choice, true);
    const Names empty =
        choice.values.empty() && table.rows() > 0 ? open_columns_of(table, choice, Kind::empty) : Names();
    const std::string odd = choice.values.empty() ? odd_cell(table, choice) : "";
    check(empty.empty() || !odd.empty(), "[columns] {} has no value in {}, expected some rows with one{}", file,
          quoted_list(empty), wide_hint(table.header()));
    if (choice.inputs.empty()) check_blank_inputs(table, choice);
    if (choice.values.empty())
      fail(
          "[columns] {} has no column of numbers with some missing, expected rows to fill and --values, or "
          "--targets{}{}",
          file, odd.empty() ? other_gaps(table, wishes) : odd,
          far_number_hint(table, open_columns_of(table, wishes, Kind::number)));
  } else {
    const std::vector<ColumnSummary>& summaries = table.summaries();
    const bool any = std::ranges::any_of(
        choice.values, [&](const std::string& name) { return summaries[*table.format().find(name)].missing > 0; });
    if (!any)
      fail("[columns] {} misses no value of {}, expected rows to fill, or --targets{}", file,
           quoted_list(choice.values), far_number_hint(table, choice.values));
  }
  return choice;
}

}  // namespace

ColumnChoice choose_columns(Table& table, const ColumnChoice& wishes, std::optional<std::int64_t> dim_x) {
  ColumnChoice choice = with_values(table, wishes);
  if (!choice.date.empty()) {
    choice.inputs.insert(choice.inputs.begin(), choice.date_name());
    return choice;
  }
  if (!choice.inputs.empty()) return choice;
  const auto numbers = [&](const std::string& name) {
    return std::move(table.numbers(std::array{table.format().column(name)}, {})[0].values);
  };
  const bool may_be_rows = !dim_x && odd_cell(table, choice).empty();
  const bool named_rows = may_be_rows && has_named_rows(table, choice);
  if (auto found = may_be_rows ? inputs_of_rows(facts_of(table), choice, numbers, named_rows) : std::nullopt)
    choice.inputs = std::move(*found);
  else
    choice.inputs = choose_inputs(table, choice, dim_x);
  return choice;
}

ColumnChoice choose_rows(Table& table, const ColumnChoice& wishes) { return with_values(table, wishes); }

bool misses_nothing(Table& table, const ColumnChoice& wishes) {
  check_wishes(table, wishes);
  check_units(table);
  if (table.rows() == 0) return false;
  const std::vector<ColumnSummary>& summaries = table.summaries();
  if (!wishes.values.empty())
    return std::ranges::all_of(wishes.values, [&](const std::string& name) {
      const ColumnSummary& s = summaries[table.format().column(name)];
      return s.kind == Kind::number && s.missing == 0;
    });
  return !open_values(facts_of(table), wishes, false).empty() && open_values(facts_of(table), wishes, true).empty() &&
         open_columns_of(table, wishes, Kind::empty).empty() && odd_cell(table, wishes).empty();
}

namespace {

/// The only column of numbers that is called like a time; of two columns x is one as well.
Names time_by_name(const Names& numbers) {
  Names found;
  for (const std::string& name : numbers)
    if (is_called_time(name) || ((name == "x" || name == "X") && numbers.size() == 2)) found.push_back(name);
  return found.size() == 1 && numbers.size() > 1 ? found : Names();
}

/// The inputs of a table without gaps. Throws Error that names the columns of numbers, if there is a doubt.
Names choose_series_inputs(Table& table, const ColumnChoice& choice, std::optional<std::int64_t> dim_x,
                           const std::function<std::string(const std::string&)>& command) {
  const Names numbers = open_values(facts_of(table), choice, false);
  const bool dates = !open_columns_of(table, choice, Kind::time).empty();
  const Names places = coordinates_among(numbers), time = time_by_name(numbers);
  const std::size_t gaps = open_values(facts_of(table), choice, true).size();
  const bool alone = table.format().columns() == 1;
  if (dates || !choice.values.empty() || (numbers.size() == gaps + 1 && !alone))
    return choose_inputs(table, choice, dim_x);
  if (!time.empty() && dim_x.value_or(1) == 1) return time;
  if (places.size() < numbers.size() && !places.empty() && dim_x.value_or(2) == 2) return places;
  const std::string wide = wide_hint(numbers);
  if (numbers.size() == 1) fail_without_input(table, choice);
  check(wide.empty(), "[columns] {} has no column of times{}", table.format().name(), wide);
  const std::string flags = fmt::format("--inputs {} --values {}", flag_list(std::array{numbers.front()}),
                                        flag_list(std::array{numbers.back()}));
  fail("[columns] {} has the columns of numbers {}, expected --inputs and --values to name them, such as: {}",
       table.format().name(), quoted_list(numbers), command(flags));
}

}  // namespace

ColumnChoice choose_series(Table& table, const ColumnChoice& wishes, std::optional<std::int64_t> dim_x,
                           const std::function<std::string(const std::string&)>& command) {
  check_wishes(table, wishes);
  check_units(table);
  ColumnChoice choice = wishes;
  if (choice.values.empty() && open_values(facts_of(table), choice, false).empty())
    fail("[columns] {} has no column of numbers, expected --values to name one{}", table.format().name(),
         odd_cell(table, choice));
  if (!choice.date.empty())
    choice.inputs.insert(choice.inputs.begin(), choice.date_name());
  else if (choice.inputs.empty())
    choice.inputs = choose_series_inputs(table, choice, dim_x, command);
  if (choice.values.empty()) choice.values = open_values(facts_of(table), choice, false);
  if (choice.values.empty())
    fail("[columns] {} has no column of numbers besides the inputs {}, expected --inputs and --values to name them{}",
         table.format().name(), quoted_list(choice.inputs), odd_cell(table, choice));
  return choice;
}

ColumnChoice choose_columns(Table& table, const Table& targets, const ColumnChoice& wishes) {
  check_wishes(table, wishes);
  ColumnChoice choice = wishes;
  if (choice.inputs.empty() && choice.date.empty()) {
    targets.format().check_named();
    choice.inputs = target_inputs(targets.header(), choice);
    leave_out_names(table, targets, choice.inputs);
    check(!choice.inputs.empty(), "[columns] {} has no column for an input", targets.format().name());
  }
  Names all = choice.inputs;
  all.insert(all.end(), choice.date.begin(), choice.date.end());
  for (const std::string& name : all) {
    static_cast<void>(table.format().column(name));
    static_cast<void>(targets.format().column(name));
  }
  for (const std::string& name : choice.covariates) static_cast<void>(targets.format().column(name));
  for (const std::string& name : groups_in(table, choice)) static_cast<void>(targets.format().column(name));
  if (choice.values.empty()) choice.values = open_values(facts_of(table), choice, false);
  check(!choice.values.empty(),
        "[columns] {} has no column of numbers besides the inputs, expected --values to name one",
        table.format().name());
  if (!choice.date.empty()) choice.inputs.insert(choice.inputs.begin(), choice.date_name());
  return choice;
}

namespace {

/// Throws Error if a column of words tells rows with equal inputs apart, but for its blank cells.
void check_blank_names(Table& table, const ColumnChoice& choice, const RowKeys& rows) {
  if (!choice.group.empty() || choice.inputs.empty()) return;
  std::vector<std::uint32_t> all(static_cast<std::size_t>(table.rows()));
  std::iota(all.begin(), all.end(), 0U);
  const auto repeats = [&](std::span<const std::uint32_t> groups, std::span<const std::uint32_t> counted) {
    return repeated_inputs({rows.x, {}, groups}, std::ssize(choice.inputs), counted).places > 0;
  };
  if (!repeats({}, all)) return;
  for (const std::string& name : open_columns_of(table, choice, Kind::text)) {
    const std::size_t column = table.format().column(name);
    const std::int64_t blank = table.summaries()[column].missing;
    const Table::Labels words = table.words(column);
    if (blank == 0 || words.names.size() < 2) continue;
    std::vector<std::uint32_t> named, filled = words.of_rows;
    for (std::uint32_t row = 0; row < filled.size(); ++row)
      if (filled[row] != Table::kNoWord)
        named.push_back(row);
      else if (row > 0)
        filled[row] = filled[row - 1];
    const bool apart = !repeats(words.of_rows, named) && repeats({}, named);
    if (apart || !repeats(filled, all))
      fail(
          "[columns] {}: {} is blank in {} of {} rows, found several rows at one {}; if it names the series, write it "
          "in "
          "each row and use --group {}; if all rows are one series, use --group none",
          table.format().name(), in_quotes(name), blank, table.rows(), in_quotes(choice.inputs[0]),
          flag_list({&name, 1}));
  }
}

}  // namespace

void check_one_series(Table& table, const ColumnChoice& choice, const RowKeys& rows, const ColumnForm& form) {
  const std::string& file = table.format().name();
  const bool dates = form.kind == ColumnForm::Kind::time;
  if (form.clock) check_clock(table, choice, rows);
  if (dates && !form.clock) check_parts_of_date(table, choice, rows);
  const auto labels = [&](std::size_t column) { return table.labels(column); };
  const auto found = series_columns(facts_of(table), choice, rows, labels);
  if (!found) {
    if (const auto runs = column_of_runs(facts_of(table), choice, rows, labels))
      fail(
          "[columns] {} has times that begin anew where {} changes; if it names the series, use --group {}; if all "
          "rows "
          "are one series, use --group none",
          file, in_quotes(*runs), flag_list({&*runs, 1}));
    check_blank_names(table, choice, rows);
    const std::vector<double> x(rows.x.begin(), rows.x.end());
    const bool one_date = dates && choice.inputs.size() == 1 && choice.group.empty() && x.size() > 2 &&
                          std::ranges::all_of(x, [&](double at) { return at == x[0]; });
    check(
        !one_date || !choice.covariates.empty(),
        "[columns] {} has {} rows of one date, {} in {}, expected rows of different dates, or --inputs to name others",
        file, x.size(), form.text(one_date ? x[0] : 0), in_quotes(choice.inputs[0]));
    return;
  }
  Names groups = groups_in(table, choice);
  groups.insert(groups.end(), found->names.begin(), found->names.end());
  const bool places = found->names.size() == 2 && are_coordinates(found->names) && dates;
  Names more = found->names;
  more.insert(more.end(), choice.inputs.begin(), choice.inputs.end());
  const std::string instead = places ? fmt::format(" or --inputs {}", flag_list(more)) : "";
  fail("[columns] {} has {}{}; if {} {} the series, use --group {}{}; if all rows are one series, use --group none",
       file, found->text(dates), choice.group.empty() ? "" : " in a group", quoted_list(found->names),
       found->names.size() == 1 ? "names" : "name", flag_list(groups), instead);
}

}  // namespace npzoo
