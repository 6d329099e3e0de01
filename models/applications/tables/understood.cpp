#include "npzoo/models/applications/tables/understood.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_set>

#include "npzoo/datasets/series/season.h"
#include "npzoo/datasets/tables/repeated_inputs.h"
#include "npzoo/engine/words.h"
#include "npzoo/models/applications/tables/lead_on.h"
#include "npzoo/models/applications/tables/own_rows.h"

namespace npzoo {

namespace {

/// "time, dates from 2026-04-01 to 2026-04-14T23:00:00".
std::string described_input(const FillTables& tables, std::size_t input) {
  const ColumnForm& form = tables.observed.forms[input];
  const auto [low, high] = range_of(tables, input);
  return fmt::format("{}, {} from {} to {}", tables.columns.inputs[input],
                     form.kind == ColumnForm::Kind::time ? "dates" : "numbers", form.text(low), form.text(high));
}

std::string described_steps(const FillTables& tables) {
  const std::optional<std::string> step = step_of(tables);
  if (!step) return "steps: not equal";
  const std::optional<AbsentRows> absent = count_absent(tables);
  return fmt::format("steps: {}{}", *step, absent ? ", " + text(*absent) : "");
}

/// The season of the first value in the first group; empty if it is not looked for.
std::string described_season(const FillTables& tables) {
  constexpr std::int64_t kFewest = 8, kMostPlaces = 20'000;
  const std::vector<std::int64_t> rows = rows_of_groups(tables).front();
  Measurements m{.time_form = tables.observed.forms[0], .time = {}, .y = {}};
  for (const std::int64_t row : rows) {
    m.time.push_back(tables.observed.x[static_cast<std::size_t>(row)]);
    m.y.push_back(tables.observed.y[0][static_cast<std::size_t>(row)]);
  }
  const TimeSeries series = order_by_time(average_equal_times(std::move(m), 1), 1, "series");
  const auto known = std::ranges::count_if(series.y, [](double y) { return !std::isnan(y); });
  if (known < kFewest || series.size() > kMostPlaces) return {};
  std::vector<double> likely;
  if (series.calendar)
    for (const CalendarPeriod& p : series.calendar->periods()) likely.push_back(p.steps);
  const std::vector<double> periods = find_periods(series.y, likely);
  const std::string of =
      fmt::format("{}{}", tables.columns.values[0], tables.groups.size() > 1 ? " in the first group" : "");
  if (periods.empty()) return "season: none found in " + of;
  return fmt::format("season: {} steps, found in {}", fmt::join(periods, " and "), of);
}

/// "units of cells: rain in mm, share in %"; empty without any.
std::string units_of_cells(const FillTables& tables) {
  std::string text;
  for (const auto* names : {&tables.columns.inputs, &tables.columns.values, &tables.columns.covariates})
    for (const std::string& name : *names)
      if (const auto column = tables.table.format().find(name))
        if (const std::string unit = tables.table.unit(*column); !unit.empty())
          text += fmt::format("{}{} in {}", text.empty() ? "units of cells: " : ", ", name, unit);
  return text;
}

std::string unused_columns(const FillTables& tables) {
  const ColumnChoice& c = tables.columns;
  std::vector<std::string> names;
  std::unordered_set<std::string> used{""};
  for (const auto* chosen : {&c.inputs, &c.values, &c.covariates, &c.date, &tables.helpers})
    used.insert(chosen->begin(), chosen->end());
  if (!c.group.empty())
    for (std::string& name :
         group_names(c.group, [&](const std::string& n) { return tables.table.format().find(n).has_value(); }))
      used.insert(std::move(name));
  for (const std::string& name : tables.table.header())
    if (!used.contains(name)) names.push_back(name);
  return names.empty() ? "" : fmt::format("columns not used: {}", fmt::join(names, ", "));
}

}  // namespace

MissingCells missing_cells(const FillTables& tables, std::size_t value) {
  MissingCells cells;
  cells.all = std::ssize(tables.observed.y[value]);
  cells.missing = std::ranges::count_if(tables.observed.y[value], [](double y) { return std::isnan(y); });
  return cells;
}

std::vector<std::string> understood(const FillTables& tables) {
  std::vector<std::string> lines;
  const std::int64_t rows = tables.table.rows();
  const std::size_t inputs = tables.observed.forms.size();
  std::string of_rows = fmt::format("rows: {}", rows);
  for (std::size_t i = 0; i < std::min(inputs, tables.columns.inputs.size()) && rows > 0; ++i)
    of_rows += fmt::format("{} {}", i == 0 ? "," : ";", described_input(tables, i));
  lines.push_back(of_rows);
  const bool steps = step_of(tables).has_value();
  if (tables.columns.inputs.size() == 1 && tables.columns.covariates.empty() && rows > 1)
    lines.push_back(described_steps(tables));
  std::string missing;
  for (std::size_t v = 0; v < tables.columns.values.size(); ++v) {
    const MissingCells cells = missing_cells(tables, v);
    missing += fmt::format("{}{} of {} values of {}", v == 0 ? "missing: " : ", ", cells.missing, cells.all,
                           tables.columns.values[v]);
  }
  lines.push_back(missing);
  if (const std::string units = units_of_cells(tables); !units.empty()) lines.push_back(units);
  if (const std::string season = steps ? described_season(tables) : ""; !season.empty()) lines.push_back(season);
  if (!tables.helpers.empty())
    lines.push_back(fmt::format("complete columns that may help: {}", fmt::join(distinct(tables.helpers), ", ")));
  if (const std::string unused = unused_columns(tables); !unused.empty()) lines.push_back(unused);
  return lines;
}

std::optional<Warning> warning_of_runs(const FillData& data,
                                       const std::function<std::string(std::int64_t row)>& place) {
  if (data.dim_x != 1 || data.x_names.size() != 1) return {};
  const auto runs = runs_of_input({data.x, data.group_labels, data.groups});
  if (!runs) return {};
  return Warning{"runs",
                 fmt::format("{} begins anew in {}, in {} runs that are taken for one series: if each is a series of "
                             "its own, add a column that numbers the runs and use --group with it",
                             data.x_names[0], place(runs->second), runs->count)};
}

}  // namespace npzoo
