#include "tools/predict/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "npzoo/engine/words.h"
#include "npzoo/models/applications/tables/understood.h"

namespace npzoo::tools {

namespace {

std::string by(const FillTables& tables) {
  const ColumnChoice& c = tables.columns;
  if (!tables.has_inputs()) return " by the other columns of a row";
  return fmt::format(
      " by {}{}", fmt::join(c.inputs, ", "),
      c.group.empty() ? "" : fmt::format(", in {} of {}", counted(std::ssize(tables.groups), "group"), c.group));
}

/// "67 of 336 values of temperature and 12 of 336 of rain".
std::string cells_of(const FillTables& tables) {
  std::string text;
  for (std::size_t v = 0; v < tables.columns.values.size(); ++v) {
    const MissingCells cells = missing_cells(tables, v);
    text += fmt::format("{}{} of {} {}of {}",
                        v == 0                                  ? ""
                        : v + 1 == tables.columns.values.size() ? " and "
                                                                : ", ",
                        cells.missing, cells.all, v == 0 ? "values " : "", tables.columns.values[v]);
  }
  return text;
}

/// The methods that have a share in a forecast; the most of all series.
std::size_t methods_of(const FillResult& result) {
  std::size_t most = 0;
  for (const TableEnd& end : result.ends)
    most = std::max(most, static_cast<std::size_t>(
                              std::ranges::count_if(end.forecast.shares, [](double share) { return share > 0; })));
  return most;
}

/// Rows with a forecast behind the end of a series.
std::size_t rows_ahead(const FillResult& result) {
  std::set<std::int64_t> rows;
  for (const TableEnd& end : result.ends) rows.insert(end.rows.begin(), end.rows.end());
  return rows.size();
}

}  // namespace

std::string plan_of(const FillTables& tables) {
  if (!tables.targets) return fmt::format("fill {}{}", cells_of(tables), by(tables));
  return fmt::format("predict {} at {}{}", fmt::join(tables.columns.values, ", "),
                     counted(tables.targets->rows(), "row"), by(tables));
}

std::string summary_of(const FillTables& tables, const FillResult& result) {
  const std::int64_t rows = tables.asked().rows();
  const auto ahead = static_cast<std::int64_t>(rows_ahead(result));
  const std::string methods =
      ahead == 0 ? "" : fmt::format("average of {}", counted(static_cast<std::int64_t>(methods_of(result)), "method"));
  std::string text;
  if (tables.targets && ahead == rows) {
    const auto groups = static_cast<std::int64_t>(std::max<std::size_t>(1, tables.groups.size()));
    const std::string steps = rows % groups == 0 ? counted(rows / groups, "step") : counted(rows, "row");
    text = fmt::format("forecast: {} of {}{}, {}", steps, fmt::join(tables.columns.values, ", "), by(tables), methods);
  } else {
    text = tables.targets ? fmt::format("predicted {} at {}{}", fmt::join(tables.columns.values, ", "),
                                        counted(rows, "row"), by(tables))
                          : fmt::format("filled {}{}", cells_of(tables), by(tables));
    if (ahead > 0) text += fmt::format("; {} after the last known value: {}", counted(ahead, "row"), methods);
  }
  if (const auto& help = result.report.help; help && !help->summary().empty()) text += "; " + help->summary();
  if (const RepeatedInputs& repeated = result.report.repeated; repeated.places > 0)
    text += fmt::format("; {} with more than one row", counted(repeated.places, "place"));
  return text;
}

}  // namespace npzoo::tools
