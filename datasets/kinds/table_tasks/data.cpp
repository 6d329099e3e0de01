#include "npzoo/datasets/kinds/table_tasks/data.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>

#include "npzoo/datasets/permutation.h"
#include "npzoo/datasets/tables/own_file.h"
#include "npzoo/datasets/tables/table.h"
#include "npzoo/engine/error.h"

namespace npzoo {

namespace {

constexpr std::int64_t kFewestBlocks = 5, kMostBlocks = 64;

/// The rows of each group, in the order in which groups appear, without those that lack an input.
std::vector<std::pair<std::string, std::vector<std::int64_t>>> groups_of(const TableTasks& tasks, const Table& table,
                                                                         const std::vector<NumberColumn>& columns) {
  Table::Labels labels{{""}, std::vector<std::uint32_t>(static_cast<std::size_t>(table.rows()))};
  if (!tasks.group.empty()) labels = table.labels(table.format().column(tasks.group));
  std::vector<std::pair<std::string, std::vector<std::int64_t>>> groups;
  for (const std::string& name : labels.names) groups.emplace_back(name, std::vector<std::int64_t>());
  for (std::int64_t row = 0; row < table.rows(); ++row) {
    const auto at = static_cast<std::size_t>(row);
    const auto is_known = [at](const NumberColumn& column) { return !std::isnan(column.values[at]); };
    if (std::ranges::all_of(columns.begin(), columns.begin() + std::ssize(tasks.inputs), is_known))
      groups[labels.of_rows[at]].second.push_back(row);
  }
  return groups;
}

/// Throws Error for a column whose extent overflows: its tasks could not be standardised.
void check_extent(const NumberColumn& column, const TableTasks& tasks, const std::string& title) {
  double low = std::numeric_limits<double>::infinity(), high = -low;
  for (const double x : column.values) {
    if (std::isnan(x)) continue;
    low = std::min(low, x);
    high = std::max(high, x);
  }
  check(low > high || std::isfinite(high - low),
        "[table] {}: column {} goes from {} to {}, expected an extent that a double can hold", tasks.path, title, low,
        high);
}

/// One group becomes blocks of rows that are near to each other along the first input.
void split_single(std::vector<std::pair<std::string, std::vector<std::int64_t>>>& groups, std::int64_t points) {
  if (groups.size() != 1) return;
  const std::vector<std::int64_t> rows = std::move(groups[0].second);
  groups.clear();
  const std::int64_t count = std::ssize(rows), blocks = std::clamp(count / points, kFewestBlocks, kMostBlocks);
  for (std::int64_t b = 0; b < blocks; ++b)
    groups.emplace_back("block " + std::to_string(b + 1),
                        std::vector(rows.begin() + count * b / blocks, rows.begin() + count * (b + 1) / blocks));
}

GroupColumn column_of(const std::string& group, const std::vector<std::int64_t>& rows,
                      const std::vector<NumberColumn>& columns, std::size_t dim_x, std::size_t value) {
  GroupColumn column{.group = group};
  for (std::int64_t i = 0; i < std::ssize(rows); ++i) {
    const auto row = static_cast<std::size_t>(rows[static_cast<std::size_t>(i)]);
    for (std::size_t j = 0; j < dim_x; ++j) column.x.push_back(columns[j].values[row]);
    column.y.push_back(columns[dim_x + value].values[row]);
    (std::isnan(column.y.back()) ? column.missing : column.known).push_back(i);
  }
  return column;
}

}  // namespace

TableData read_table_data(const TableTasks& tasks) {
  check_table_unchanged(tasks.path, tasks.checksum);
  Table table = Table::read(tasks.path);
  std::vector<std::size_t> indices;
  for (const auto* names : {&tasks.inputs, &tasks.values})
    for (const std::string& name : *names) indices.push_back(table.format().column(name));
  std::vector<ColumnForm> forms = table.input_forms(std::span(indices).first(tasks.inputs.size()));
  forms.resize(indices.size());
  const std::vector<NumberColumn> columns = table.numbers(indices, forms);

  for (std::size_t i = 0; i < columns.size(); ++i) check_extent(columns[i], tasks, table.format().title(indices[i]));
  auto groups = groups_of(tasks, table, columns);
  for (auto& [name, rows] : groups)
    if (tasks.inputs.size() == 1 || groups.size() == 1)
      std::ranges::stable_sort(rows, {},
                               [&](std::int64_t row) { return columns[0].values[static_cast<std::size_t>(row)]; });
  split_single(groups, tasks.points);

  TableData data;
  std::vector<std::vector<GroupColumn>> usable;  // of each group
  for (const auto& [name, rows] : groups) {
    std::vector<GroupColumn> of_group;
    for (std::size_t value = 0; value < tasks.values.size(); ++value) {
      GroupColumn one = column_of(name, rows, columns, tasks.inputs.size(), value);
      if (std::ssize(one.known) >= TableData::kLeastKnown) of_group.push_back(std::move(one));
    }
    if (!of_group.empty()) usable.push_back(std::move(of_group));
  }
  const auto count = std::ssize(usable);
  check(count >= 2,
        "[table] {}: {} with at least {} known values found, expected two or more: to train on, and to hold out",
        tasks.path, count == 1 ? "1 group or block" : "no groups or blocks", TableData::kLeastKnown);
  data.tested_on_validation = !tasks.held_out.test || count < 3;
  const auto share = [count](double of, std::int64_t most) {
    return std::clamp<std::int64_t>(std::llround(of * static_cast<double>(count)), 1, most);
  };
  const std::int64_t test = data.tested_on_validation ? 0 : share(*tasks.held_out.test, count - 2);
  const std::int64_t held_out = test + share(tasks.held_out.validation, count - 1 - test);
  const Permutation order(count, 0, 0);
  for (std::int64_t i = 0; i < count; ++i)
    for (GroupColumn& column : usable[static_cast<std::size_t>(order(i))])
      (i < test ? data.test : i < held_out ? data.validation : data.training).push_back(std::move(column));
  if (data.tested_on_validation) data.test = data.validation;
  return data;
}

}  // namespace npzoo
