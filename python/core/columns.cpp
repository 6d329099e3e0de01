// Chooses the columns of a frame and reads columns of text, by the library's rules for all tables.
#include <fmt/ranges.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <regex>
#include <string_view>
#include <tuple>
#include <utility>

#include "npzoo/datasets/tables/column_choice.h"
#include "npzoo/datasets/tables/column_facts.h"
#include "npzoo/datasets/tables/date_codes.h"
#include "npzoo/datasets/tables/flag_text.h"
#include "npzoo/datasets/tables/matching_rows.h"
#include "npzoo/engine/error.h"
#include "npzoo/models/applications/tables/chosen_columns.h"
#include "npzoo/models/applications/tables/word_indicators.h"
#include "python/core/arrays.h"
#include "python/core/tables.h"

namespace npzoo::python {

using namespace nb::literals;

namespace {

using Names = std::vector<std::string>;
DateOrder order_named(const std::string& order) {
  const DateOrder found = date_order_named(order);
  check(order.empty() || found != DateOrder::unknown, "[fill] dates '{}' found, expected 'dmy', 'mdy' or 'ymd'", order);
  return found;
}

constexpr const char* kFrame = "the table";

/// Calls `f`. Messages about a table name the function that was called, and rows in the place of lines.
template <class F>
auto named(const std::string& where, F f) {
  try {
    return f();
  } catch (const Error& error) {
    static const std::regex place(fmt::format(R"(^\[{}:(\d+)\] )", kFrame)), line(R"(\bline (\d+))");
    static const std::regex names(fmt::format(R"(^\[{0}:-1\] )", kFrame));
    std::string text = std::regex_replace(error.what(), names, fmt::format("[columns] {} ", kFrame));
    text = std::regex_replace(text, place, "[columns] row $1: ");
    text = std::regex_replace(text, line, "row $1");
    constexpr std::string_view kColumns = "[columns] ";
    if (text.starts_with(kColumns)) text = fmt::format("[{}] {}", where, text.substr(kColumns.size()));
    if (where == "forecast") {
      static const std::regex inputs("--inputs "), one_series("; if all rows are one series.*");
      text = std::regex_replace(std::regex_replace(text, inputs, "--time "), one_series, "");
    }
    fail("{}", text);
  }
}

/// One column of a frame as cells of text; "": missing.
std::function<std::string(std::int64_t row)> cells_of(const nb::handle& column) {
  const auto text_of = [](double value) {
    constexpr double kMost = std::numeric_limits<double>::max();
    return std::isnan(value) ? std::string() : fmt::format("{}", std::clamp(value, -kMost, kMost));
  };
  if (nb::isinstance<nb::list>(column))
    return [texts = nb::cast<Names>(column)](std::int64_t row) { return texts[static_cast<std::size_t>(row)]; };
  if (!nb::isinstance<nb::tuple>(column))
    return [numbers = nb::cast<Doubles>(column), text_of](std::int64_t row) { return text_of(numbers.data()[row]); };
  const auto [days, form] = nb::cast<std::tuple<Doubles, Form>>(column);
  return [days = days, form = form_of(form)](std::int64_t row) {
    const double day = days.data()[row];
    return std::isnan(day) ? std::string() : form.text(day);
  };
}

/// The columns of a frame as a table of the library, which chooses among them as for files.
class FrameColumns {
 public:
  /// `columns` are arrays of numbers, arrays of days with their form, and lists of texts, of so many rows.
  FrameColumns(const Names& names, std::int64_t rows, const nb::list& columns, const std::string& dates,
               const Names& missing)
      : table_(made(names, rows, columns, {.dates = order_named(dates), .missing = missing})) {
    std::size_t c = 0;
    for (const nb::handle column : columns) {
      if (missing.empty() && nb::isinstance<nb::list>(column) &&
          table_.summaries()[c].kind == ColumnSummary::Kind::number)
        table_.take_as_text(c);
      ++c;
    }
  }

  /// Returns inputs and values. There may be no input.
  std::pair<Names, Names> choose(const Names& inputs, const Names& values, const Names& group, const Names& covariates,
                                 FrameColumns* targets, std::optional<std::int64_t> dim_x) {
    return named("fill", [&] {
      ColumnChoice wishes = choice(inputs, values, group, covariates);
      if (targets == nullptr && values.empty() && inputs != Names{"none"}) check_gaps(wishes);
      return chosen("fill",
                    choose_to_fill(table_, std::move(wishes),
                                   {.targets = targets == nullptr ? nullptr : &targets->table_, .dim_x = dim_x}));
    });
  }
  /// The columns that are dates or times of day if they are inputs.
  Names dates() const {
    Names found;
    for (std::size_t column = 0; column < table_.format().columns(); ++column)
      if (table_.input_forms({&column, 1})[0].kind == ColumnForm::Kind::time) found.push_back(table_.header()[column]);
    return found;
  }
  /// The same as `choose` for a forecast.
  std::pair<Names, Names> choose_series(const Names& values, const Names& group) {
    return named("forecast", [&] {
      return chosen("forecast", choose_to_fill(table_, choice({}, values, group, {}), {.dim_x = 1, .adds_rows = true}));
    });
  }
  /// Throws Error if rows of equal inputs, or times that begin anew, are several series of a group.
  void check_one_series(const std::string& where, const Names& inputs, const Names& values, const Names& group,
                        const Doubles& x, const std::optional<Groups>& groups, const Form& form) {
    const std::span<const std::uint32_t> of_rows = numbers_of(groups);
    const Names numbers(of_rows.empty() ? 0 : std::size_t{*std::ranges::max_element(of_rows)} + 1);
    named(where, [&] {
      npzoo::check_one_series(table_, choice(inputs, values, group, {}), {span_of(x), numbers, of_rows}, form_of(form));
    });
  }
  /// The columns of numbers that may help, and those of words.
  std::tuple<Names, Names> helpers(const Names& inputs, const Names& values, const Names& group,
                                   const Names& covariates) {
    const ColumnChoice used = choice(inputs, values, group, covariates);
    Names words = helping_words(table_, used);
    std::erase_if(words, [&](const std::string& name) { return !holds_words(table_, table_.format().column(name)); });
    return {helping_columns(table_, used), std::move(words)};
  }

 private:
  static Table made(const Names& names, std::int64_t rows, const nb::list& columns, const CellRules& rules) {
    std::vector<std::function<std::string(std::int64_t)>> cells;
    for (const nb::handle column : columns) cells.push_back(cells_of(column));
    const TableFormat format(kFrame, -1, names);
    return Table::of_cells(
        format, rows, [&](std::size_t c, std::int64_t row) { return cells[c](row); }, rules);
  }
  static ColumnChoice choice(const Names& inputs, const Names& values, const Names& group, const Names& covariates) {
    return {inputs, values, fmt::format("{}", fmt::join(group, ",")), covariates};
  }
  void check_gaps(const ColumnChoice& wishes) {
    if (!misses_nothing(table_, wishes)) return;
    fail(
        "[fill] no value of {} is missing, expected gaps to fill: for forecasts use npzoo.forecast(table, horizon=12), "
        "for other rows targets; values names columns to smooth",
        quoted_list(open_values(facts_of(table_), wishes, false)));
  }
  std::pair<Names, Names> chosen(const std::string& where, const ChosenColumns& found) {
    const ColumnChoice& columns = found.columns;
    check(
        columns.date.empty(),
        "[{}] {} are a date together, expected one column: such as pandas.to_datetime(table['{}'] + ' ' + table['{}'])",
        where, quoted_list(columns.date), columns.date.empty() ? "" : columns.date.front(),
        columns.date.empty() ? "" : columns.date.back());
    return {columns.inputs, columns.values};
  }

  Table table_;
};

/// Reads a column of text as dates: days, NaN where one is missing, and their form. None if it holds anything else.
/// Times of day are some in a column that is `sure` to be an input. With `form` days count from the same one.
std::optional<nb::tuple> read_dates(const std::string& name, const std::vector<std::string>& cells,
                                    const std::string& order, bool sure, const std::optional<Form>& form) {
  const CellRules rules{.dates = order_named(order)};
  const auto first = std::ranges::find_if_not(cells, [](const std::string& cell) { return is_missing(cell); });
  if (first == cells.end() ||
      !(looks_like_date(*first) || parse_number_date(*first) || parse_date_code(*first) || rules.any() || sure))
    return std::nullopt;
  Table table = Table::of_column(name, cells, rules);
  if (table.summaries()[0].kind != ColumnSummary::Kind::time || (table.summaries()[0].clock && !sure))
    return std::nullopt;
  const std::size_t column = 0;
  std::vector<ColumnForm> forms = table.input_forms({&column, 1});
  if (form) {
    const ColumnForm own = forms[0];
    forms[0] = form_of(*form);
    forms[0].order = own.order;
    forms[0].shape = own.shape;
  }
  NumberColumn read = std::move(table.numbers({&column, 1}, forms)[0]);
  if (read.form.kind != ColumnForm::Kind::time) return std::nullopt;
  const std::size_t rows = read.values.size();
  return nb::make_tuple(array_from(std::move(read.values), {rows}),
                        nb::make_tuple(true, read.form.zoned, read.form.epoch, read.form.clock));
}

/// For each row of `asked` the row of `known` with the same inputs and the same group, −1 if there is none.
NumpyArray match_rows(const Doubles& asked, const std::optional<Groups>& asked_groups, const Doubles& known,
                      const std::optional<Groups>& known_groups, std::int64_t groups) {
  Names names;
  for (std::int64_t g = 0; g < groups; ++g) names.push_back(std::to_string(g));
  const auto keys = [&](const Doubles& x, const std::optional<Groups>& of_rows) {
    return RowKeys{span_of(x), names, numbers_of(of_rows)};
  };
  std::vector<std::int64_t> rows = matching_rows(keys(asked, asked_groups), keys(known, known_groups),
                                                 static_cast<std::int64_t>(asked.shape(1)), "truth");
  const std::size_t count = rows.size();
  return array_from(std::move(rows), {count});
}

Table::Labels labels_of(const Names& names, const Groups& of_rows) {
  return {names, {of_rows.data(), of_rows.data() + of_rows.size()}};
}

void add_numbers(CovariateColumns& self, const std::string& name, const Doubles& rows,
                 const std::optional<Doubles>& targets) {
  const auto vector_of = [](const Doubles& a) { return std::vector<double>(a.data(), a.data() + a.size()); };
  self.add_numbers(name, vector_of(rows), targets ? vector_of(*targets) : std::vector<double>());
}

void add_categories(CovariateColumns& self, const std::string& name, const Names& names, const Groups& rows,
                    const std::optional<Groups>& targets) {
  std::optional<Table::Labels> asked;
  if (targets) asked = labels_of(names, *targets);
  self.add_categories(name, labels_of(names, rows), asked ? &*asked : nullptr, "the table");
}

}  // namespace

void add_columns(nb::module_& module) {
  nb::class_<FrameColumns>(module, "Columns")
      .def(nb::init<const Names&, std::int64_t, const nb::list&, const std::string&, const Names&>(), "names"_a,
           "rows"_a, "columns"_a, "dates"_a, "missing"_a)
      .def("choose", &FrameColumns::choose, "inputs"_a, "values"_a, "group"_a, "covariates"_a, "targets"_a.none(),
           "dim_x"_a.none())
      .def("dates", &FrameColumns::dates)
      .def("choose_series", &FrameColumns::choose_series, "values"_a, "group"_a)
      .def("check_one_series", &FrameColumns::check_one_series, "where"_a, "inputs"_a, "values"_a, "group"_a,
           "x"_a.noconvert(), "groups"_a.none(), "form"_a)
      .def("helpers", &FrameColumns::helpers, "inputs"_a, "values"_a, "group"_a, "covariates"_a);
  module.attr("NO_WORD") = Table::kNoWord;
  module.def(
      "word_indicators",
      [](const Groups& of_rows) {
        nb::list columns;
        for (std::vector<double>& column : word_indicators({of_rows.data(), of_rows.size()})) {
          const std::size_t rows = column.size();
          columns.append(array_from(std::move(column), {rows}));
        }
        return columns;
      },
      "of_rows"_a.noconvert());
  module.def("read_dates", &read_dates, "name"_a, "cells"_a, "order"_a, "sure"_a, "form"_a = nb::none());
  module.def("match_rows", &match_rows, "asked"_a.noconvert(), "asked_groups"_a, "known"_a.noconvert(),
             "known_groups"_a, "groups"_a);
  nb::class_<CovariateColumns>(module, "Covariates")
      .def(nb::init<>())
      .def("add_numbers", &add_numbers, "name"_a, "rows"_a, "targets"_a = nb::none())
      .def("add_categories", &add_categories, "name"_a, "names"_a, "rows"_a, "targets"_a = nb::none())
      .def("__len__", &CovariateColumns::count);
}

}  // namespace npzoo::python
