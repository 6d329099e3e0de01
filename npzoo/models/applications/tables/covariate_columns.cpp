#include "npzoo/models/applications/tables/covariate_columns.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "npzoo/engine/error.h"
#include "npzoo/engine/io/text.h"

namespace npzoo {

namespace {

/// Columns (rows) that are not interleaved yet.
struct ReadColumns {
  std::vector<std::vector<double>> of_rows, of_targets;
};

void read_numbers(Table& table, Table* targets, const std::string& name, ReadColumns& to) {
  const std::size_t at = table.format().column(name);
  std::vector<ColumnForm> forms(1);
  std::vector<NumberColumn> found = table.numbers(std::array{at}, forms, std::array{at});
  to.of_rows.push_back(std::move(found[0].values));
  if (!targets) return;
  const std::size_t asked = targets->format().column(name);
  forms[0] = found[0].form;
  to.of_targets.push_back(std::move(targets->numbers(std::array{asked}, forms, std::array{asked})[0].values));
}

/// Returns the categories, in the order in which they appear.
std::vector<std::string> read_categories(Table& table, Table* targets, const std::string& name, ReadColumns& to) {
  std::vector<std::string> categories;
  const auto add = [&](Table& from, bool is_target) {
    const Table::Labels labels = from.labels(from.format().column(name));
    for (const std::string& label : labels.names)
      if (std::ranges::find(categories, label) == categories.end()) categories.push_back(label);
    check(categories.size() <= kMostCategories, "[columns] {} has more than {} categories in column {}, expected fewer",
          from.format().name(), kMostCategories, in_quotes(name));
    return std::pair(labels, is_target);
  };
  std::vector<std::pair<Table::Labels, bool>> read{add(table, false)};
  if (targets) read.push_back(add(*targets, true));
  for (const auto& [labels, is_target] : read)
    for (const std::string& category : categories) {
      std::vector<double>& column = (is_target ? to.of_targets : to.of_rows).emplace_back();
      for (const std::uint32_t label : labels.of_rows) column.push_back(labels.names[label] == category ? 1 : 0);
    }
  return categories;
}

std::vector<double> interleaved(const std::vector<std::vector<double>>& columns) {
  std::vector<double> rows;
  for (std::size_t i = 0; !columns.empty() && i < columns[0].size(); ++i)
    for (const std::vector<double>& column : columns) rows.push_back(column[i]);
  return rows;
}

}  // namespace

bool holds_words(const Table& table, std::size_t column) {
  CellParser parser(table.format());
  Cells cells;
  for (std::int64_t row = 0; row < table.rows(); ++row) {
    table.format().split(table.text(row), table.line(row), cells);
    const std::string_view cell = cells.text[column];
    if (is_missing(cell)) continue;
    const char first = cell.front();
    const bool letter = (first >= 'a' && first <= 'z') || (first >= 'A' && first <= 'Z') || (first & 0x80) != 0;
    return letter && parser.kind_of(cell) == ColumnForm::Kind::unknown && !looks_like_date(cell);
  }
  return false;
}

CovariateColumns read_covariates(Table& table, Table* targets, const std::vector<std::string>& names) {
  CovariateColumns found;
  ReadColumns columns;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (!holds_words(table, table.format().column(names[i]))) {
      read_numbers(table, targets, names[i], columns);
      found.names.push_back(names[i]);
    } else {
      for (const std::string& category : read_categories(table, targets, names[i], columns))
        found.names.push_back(names[i] + " = " + category);
    }
    found.columns.resize(found.names.size(), i);
  }
  found.of_rows = interleaved(columns.of_rows);
  found.of_targets = interleaved(columns.of_targets);
  return found;
}

std::vector<double> side_by_side(const std::vector<double>& a, const std::vector<double>& b, std::size_t rows) {
  std::vector<double> all;
  all.reserve(a.size() + b.size());
  const std::size_t left = rows > 0 ? a.size() / rows : 0, right = rows > 0 ? b.size() / rows : 0;
  for (std::size_t i = 0; i < rows; ++i) {
    all.insert(all.end(), a.begin() + static_cast<std::ptrdiff_t>(i * left),
               a.begin() + static_cast<std::ptrdiff_t>((i + 1) * left));
    all.insert(all.end(), b.begin() + static_cast<std::ptrdiff_t>(i * right),
               b.begin() + static_cast<std::ptrdiff_t>((i + 1) * right));
  }
  return all;
}

}  // namespace npzoo
