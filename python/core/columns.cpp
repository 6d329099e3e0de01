// Chooses the columns of a frame and reads columns of text, by the library's rules for all tables.
#include <fmt/ranges.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <optional>
#include <tuple>

#include "npzoo/datasets/tables/column_hints.h"
#include "npzoo/datasets/tables/column_rules.h"
#include "npzoo/datasets/tables/date_codes.h"
#include "npzoo/datasets/tables/inputs_of_rows.h"
#include "npzoo/datasets/tables/matching_rows.h"
#include "npzoo/datasets/tables/series_columns.h"
#include "npzoo/engine/error.h"
#include "npzoo/models/applications/tables/word_indicators.h"
#include "python/core/arrays.h"
#include "python/core/tables.h"

namespace npzoo::python {

using namespace nb::literals;

namespace {

using Names = std::vector<std::string>;
using Kind = ColumnSummary::Kind;
/// Name, kind, missing cells, and whether dates are not written in another notation than ISO 8601.
using Facts = std::tuple<std::string, std::string, std::int64_t, bool>;

Kind kind_named(const std::string& name) {
  if (name == "empty") return Kind::empty;
  if (name == "number") return Kind::number;
  return name == "time" ? Kind::time : Kind::text;
}

std::vector<ColumnFacts> facts_of(const std::vector<Facts>& columns) {
  std::vector<ColumnFacts> all;
  for (const auto& [name, kind, missing, iso] : columns) all.push_back({name, kind_named(kind), missing, iso});
  return all;
}

std::string listed(const Names& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "'" : ", '") + name + "'";
  return text;
}

/// The values: columns of numbers with missing cells. Throws Error that names why there is none.
Names choose_values(const std::vector<ColumnFacts>& columns, const ColumnChoice& choice) {
  Names values = open_values(columns, choice, true);
  if (!values.empty()) return values;
  const Names empty = open_columns(columns, choice, [](const ColumnFacts& c) { return c.kind == Kind::empty; });
  check(empty.empty(), "[fill] {} has no value, expected some rows with one", listed(empty));
  const Names complete = open_values(columns, choice, false);
  if (!complete.empty())
    fail(
        "[fill] no value of {} is missing, expected gaps to fill: for forecasts use npzoo.forecast(table, horizon=12), "
        "for other rows targets; values names columns to smooth",
        listed(complete));
  const Names texts = open_columns(columns, choice, [](const ColumnFacts& c) { return c.kind == Kind::text; });
  check(texts.empty(), "[fill] {} {} text, expected a column of numbers with gaps", listed(texts),
        texts.size() == 1 ? "is" : "are");
  fail("[fill] no column of numbers found, expected values to name the columns to predict");
}

Names choose_inputs(const std::vector<ColumnFacts>& columns, const ColumnChoice& choice,
                    std::optional<std::int64_t> dim_x) {
  using Doubt = OpenInputs::Doubt;
  const OpenInputs found = open_inputs(columns, choice, dim_x);
  check(found.doubt != Doubt::dates, "[fill] {} columns of dates found, {}, expected inputs to name them",
        found.names.size(), listed(found.names));
  check(!dim_x || found.doubt == Doubt::none || *dim_x == 1,
        "[fill] the weights take {} inputs, expected inputs to name as many", dim_x.value_or(0));
  check(found.doubt != Doubt::nothing,
        "[fill] no column of dates, nor of numbers without a gap, found, expected inputs to name one");
  Names all;
  for (const ColumnFacts& column : columns) all.push_back(column.name);
  const std::string wide = found.dates ? "" : wide_hint(all);
  check(found.doubt == Doubt::none, "[fill] {} might be inputs, expected inputs to name {}{}", listed(found.names),
        dim_x ? "the " + std::to_string(*dim_x) + " of the model"
              : "them, or inputs='none' to predict from all columns of a row",
        wide);
  check(wide.empty() || !names_time(found.names[0]),
        "[fill] no column but {} might be an input, expected inputs to name one{}", listed(found.names), wide);
  return found.names;
}

/// Returns inputs and values; there may be no input (see inputs_of_rows). `numbers(name)` is a column. `targets` are
/// the columns of the table to predict at, if there is one.
std::tuple<Names, Names> choose(const std::vector<Facts>& facts, const Names& inputs, const Names& values,
                                const Names& group, const Names& covariates, const std::optional<Names>& targets,
                                std::optional<std::int64_t> dim_x, const nb::callable& numbers) {
  const std::vector<ColumnFacts> columns = facts_of(facts);
  ColumnChoice choice{inputs, values, fmt::format("{}", fmt::join(group, ",")), covariates};
  if (targets) {
    if (inputs.empty()) choice.inputs = target_inputs(*targets, choice);
    check(!choice.inputs.empty(), "[fill] the targets have no column for an input, expected one");
    if (values.empty()) choice.values = open_values(columns, choice, false);
    check(!choice.values.empty(), "[fill] no column of numbers besides the inputs found, expected values to name one");
  } else {
    if (values.empty()) choice.values = choose_values(columns, choice);
    const auto read = [&](const std::string& name) {
      const std::span<const double> column = span_of(nb::cast<Doubles>(numbers(name)));
      return std::vector<double>(column.begin(), column.end());
    };
    auto found = inputs.empty() && !dim_x ? inputs_of_rows(columns, choice, read) : std::nullopt;
    if (inputs.empty()) choice.inputs = found ? std::move(*found) : choose_inputs(columns, choice, dim_x);
  }
  return {choice.inputs, choice.values};
}

/// An argument of several names, or one, as Python writes it.
std::string argument(const Names& names) {
  return names.size() == 1 ? "'" + names[0] + "'" : "[" + listed(names) + "]";
}

/// Throws Error if rows of equal inputs, or times that begin anew, are several series of a group. `labels(column)`
/// returns the different labels of a column as text, and the number of each row's. `where` is the function called;
/// in `fill` naming the inputs says that rows of equal ones belong together.
void check_one_series(const std::string& where, const std::vector<Facts>& facts, const Names& inputs,
                      const Names& values, const Names& group, const Doubles& x, const std::optional<Groups>& groups,
                      bool dates, const nb::callable& labels) {
  const auto read = [&](std::size_t column) {
    auto [names, of_rows] = nb::cast<std::tuple<Names, Groups>>(labels(std::get<0>(facts[column])));
    return Table::Labels{std::move(names), {of_rows.data(), of_rows.data() + of_rows.size()}};
  };
  const std::vector<ColumnFacts> columns = facts_of(facts);
  const ColumnChoice choice{inputs, values, fmt::format("{}", fmt::join(group, ","))};
  const std::span<const std::uint32_t> of_rows = numbers_of(groups);
  const Names numbers(of_rows.empty() ? 0 : std::size_t{*std::ranges::max_element(of_rows)} + 1);
  const RowKeys rows{span_of(x), numbers, of_rows};
  const auto found = series_columns(columns, choice, rows, read);
  const auto runs = found ? std::nullopt : column_of_runs(columns, choice, rows, read);
  if (!found && !runs) return;
  Names all = group;
  if (found)
    all.insert(all.end(), found->names.begin(), found->names.end());
  else
    all.push_back(*runs);
  const Names more(all.begin() + std::ssize(group), all.end());
  fail("[{}] {} found{}; if {} {} the series, use group={}{}", where,
       found ? found->text(dates) : fmt::format("times that begin anew where {} changes", listed(more)),
       group.empty() ? "" : " in a group", listed(more), more.size() == 1 ? "names" : "name", argument(all),
       where == "fill" ? fmt::format(", otherwise inputs={}", argument(inputs)) : "");
}

DateOrder order_named(const std::string& order) {
  const DateOrder found = date_order_named(order);
  check(order.empty() || found != DateOrder::unknown, "[fill] dates '{}' found, expected 'dmy', 'mdy' or 'ymd'", order);
  return found;
}

/// Reads a column of text as dates: days, NaN where one is missing, their form, and whether they are of ISO 8601. None
/// if it holds anything else. With `form` days count from the same one.
std::optional<nb::tuple> read_dates(const std::string& name, const std::vector<std::string>& cells,
                                    const std::string& order, const Names& missing, const std::optional<Form>& form) {
  const CellRules rules{.dates = order_named(order), .missing = missing};
  const auto first = std::ranges::find_if_not(cells, [](const std::string& cell) { return is_missing(cell); });
  if (first == cells.end() ||
      !(looks_like_date(*first) || parse_number_date(*first) || parse_date_code(*first) || rules.any()))
    return std::nullopt;
  Table table = Table::of_column(name, cells, rules);
  if (table.summaries()[0].kind != Kind::time || table.summaries()[0].clock) return std::nullopt;
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
                        nb::make_tuple(true, read.form.zoned, read.form.epoch), parse_date_time(*first).has_value());
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
  module.def("choose_columns", &choose, "columns"_a, "inputs"_a, "values"_a, "group"_a, "covariates"_a, "targets"_a,
             "dim_x"_a, "numbers"_a);
  module.def(
      "choose_values", [](const std::vector<Facts>& columns) { return choose_values(facts_of(columns), {}); },
      "columns"_a);
  module.def(
      "choose_inputs",
      [](const std::vector<Facts>& columns, const Names& values, std::optional<std::int64_t> dim_x) {
        return choose_inputs(facts_of(columns), {.values = values}, dim_x);
      },
      "columns"_a, "values"_a, "dim_x"_a);
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
  module.def("check_one_series", &check_one_series, "where"_a, "columns"_a, "inputs"_a, "values"_a, "group"_a,
             "x"_a.noconvert(), "groups"_a.none(), "dates"_a, "labels"_a);
  module.def("read_dates", &read_dates, "name"_a, "cells"_a, "order"_a, "missing"_a, "form"_a = nb::none());
  module.def("match_rows", &match_rows, "asked"_a.noconvert(), "asked_groups"_a, "known"_a.noconvert(),
             "known_groups"_a, "groups"_a);
  nb::class_<CovariateColumns>(module, "Covariates")
      .def(nb::init<>())
      .def("add_numbers", &add_numbers, "name"_a, "rows"_a, "targets"_a = nb::none())
      .def("add_categories", &add_categories, "name"_a, "names"_a, "rows"_a, "targets"_a = nb::none())
      .def("__len__", &CovariateColumns::count);
}

}  // namespace npzoo::python
