#include "npzoo/models/applications/tables/own_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "npzoo/datasets/tables/table_writer.h"
#include "npzoo/engine/io/text.h"

namespace npzoo {

/// The rows of each group, by its number; all rows without groups.
std::vector<std::vector<std::int64_t>> rows_of_groups(const FillTables& tables) {
  const TableNumbers& observed = tables.observed;
  std::vector<std::vector<std::int64_t>> rows(std::max<std::size_t>(1, tables.groups.size()));
  for (std::int64_t row = 0; row < tables.table.rows(); ++row)
    rows[observed.of_rows.empty() ? 0 : observed.of_rows[static_cast<std::size_t>(row)]].push_back(row);
  return rows;
}

std::string group_text(const FillTables& tables, std::size_t group) {
  return tables.groups.empty() ? std::string() : fmt::format(", group {}", in_quotes(tables.groups[group]));
}

/// The series of the times of a group, each once. Throws Error for fewer than two.
TimeSeries times_of(const FillTables& tables, std::size_t group, std::span<const std::int64_t> rows) {
  Measurements m{.time_form = tables.observed.forms[0], .time = {}, .y = {}};
  for (const std::int64_t row : rows) m.time.push_back(tables.observed.x[static_cast<std::size_t>(row)]);
  m.y.assign(m.time.size(), 0);
  return order_by_time(average_equal_times(std::move(m), 1), 1,
                       tables.table.format().name() + group_text(tables, group));
}

/// The range of an input over the observed rows.
std::pair<double, double> range_of(const FillTables& tables, std::size_t input) {
  const std::size_t dim_x = tables.columns.inputs.size();
  double low = std::numeric_limits<double>::infinity(), high = -low;
  for (std::size_t i = input; i < tables.observed.x.size(); i += dim_x) {
    low = std::min(low, tables.observed.x[i]);
    high = std::max(high, tables.observed.x[i]);
  }
  return {low, high};
}

OwnRows::OwnRows(const FillTables& tables) : tables_(tables), format_(tables.table.format()) {
  const ColumnChoice& c = tables.columns;
  const std::size_t joined = c.date.empty() ? 0 : 1;
  for (const std::string& name : c.date) add_times(name, 0);
  const bool split = std::ranges::all_of(notations_, [](const auto& n) { return n.second.found(); });
  if (!split) notations_.clear();
  for (std::size_t i = joined; i < c.inputs.size(); ++i)
    if (tables.observed.forms[i].kind == ColumnForm::Kind::time) add_times(c.inputs[i], i);
  if (!split) names_.push_back(c.date_name());
  if (!c.group.empty())
    group_names_ = npzoo::group_names(c.group, [&](const std::string& n) { return format_.find(n).has_value(); });
  for (const std::vector<std::int64_t>& rows : rows_of_groups(tables))
    first_rows_.push_back(rows.empty() ? 0 : rows[0]);
  const auto is_written = [&](const std::string& name) {
    return std::ranges::count(group_names_, name) > 0 || std::ranges::count(c.inputs, name) > 0 ||
           (split && std::ranges::count(c.date, name) > 0);
  };
  std::ranges::copy_if(format_.header(), std::back_inserter(names_),
                       [&](const std::string& name) { return !name.empty() && is_written(name); });
}

bool OwnRows::writes_own_columns() const {
  return std::ranges::all_of(names_, [&](const std::string& name) { return format_.find(name).has_value(); });
}

std::string OwnRows::cell(const std::string& name, std::span<const double> x, std::uint32_t group) const {
  const ColumnChoice& c = tables_.columns;
  if (std::ranges::count(group_names_, name) > 0) return group_cell(name, group);
  const bool date = std::ranges::count(c.date, name) > 0;
  const std::size_t input = date ? 0 : static_cast<std::size_t>(std::ranges::find(c.inputs, name) - c.inputs.begin());
  if (const auto found = notations_.find(name); found != notations_.end()) return found->second.text(x[input]);
  std::string text = tables_.observed.forms[input].text(x[input]);
  if (tables_.observed.forms[input].kind != ColumnForm::Kind::time)
    std::ranges::replace(text, '.', tables_.table.decimal_sign());
  return text;
}

std::string OwnRows::group_cell(const std::string& name, std::uint32_t group) const {
  Cells cells;
  const std::int64_t row = first_rows_[group];
  format_.split(tables_.table.text(row), tables_.table.line(row), cells);
  return std::string(trim(cells.text[format_.column(name)]));
}

std::string OwnRows::row(std::span<const std::string> columns, std::span<const double> x, std::uint32_t group) const {
  std::string line;
  for (const std::string& name : columns) {
    if (&name != columns.data()) line += format_.separator();
    const bool known = std::ranges::count(names_, name) > 0;
    const std::string text = known ? cell(name, x, group) : format_.separator() == ' ' ? "NA" : "";
    line += as_cell(text, format_.separator());
  }
  return line;
}

void OwnRows::add_times(const std::string& name, std::size_t input) {
  const Table& table = tables_.table;
  const std::size_t at = format_.column(name), dim_x = tables_.columns.inputs.size();
  constexpr std::int64_t kLooked = 2000;  // at each end
  std::vector<std::string> texts;
  std::vector<double> days;
  Cells cells;
  for (std::int64_t row = 0; row < table.rows(); ++row) {
    if (row >= kLooked && row < table.rows() - kLooked) continue;
    format_.split(table.text(row), table.line(row), cells);
    texts.emplace_back(trim(cells.text[at]));
    days.push_back(tables_.observed.x[static_cast<std::size_t>(row) * dim_x + input]);
  }
  const std::vector<std::string_view> views(texts.begin(), texts.end());
  notations_.emplace(name, TimeNotation(views, days, tables_.observed.forms[input]));
}

}  // namespace npzoo
