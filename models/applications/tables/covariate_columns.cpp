#include "npzoo/models/applications/tables/covariate_columns.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "npzoo/engine/error.h"
#include "npzoo/engine/io/text.h"

namespace npzoo {

namespace {

void read_numbers(Table& table, Table* targets, const std::string& name, CovariateColumns& to) {
  const std::size_t at = table.format().column(name);
  std::vector<ColumnForm> forms(1);
  std::vector<NumberColumn> found = table.numbers(std::array{at}, forms, {});
  std::vector<double> of_targets;
  if (targets) {
    const std::size_t asked = targets->format().column(name);
    forms[0] = found[0].form;
    of_targets = std::move(targets->numbers(std::array{asked}, forms, {})[0].values);
  }
  to.add_numbers(name, std::move(found[0].values), std::move(of_targets));
}

/// The words of a column. Rows without one are a category of their own.
Table::Labels categories_of(const Table& table, const std::string& name) {
  Table::Labels labels = table.words(table.format().column(name));
  if (std::ranges::find(labels.of_rows, Table::kNoWord) == labels.of_rows.end()) return labels;
  std::ranges::replace(labels.of_rows, Table::kNoWord, static_cast<std::uint32_t>(labels.names.size()));
  labels.names.emplace_back("missing");
  return labels;
}

void read_categories(const Table& table, const Table* targets, const std::string& name, CovariateColumns& to) {
  const Table::Labels rows = categories_of(table, name);
  if (!targets) return to.add_categories(name, rows, nullptr, table.format().name());
  const Table::Labels asked = categories_of(*targets, name);
  to.add_categories(name, rows, &asked, table.format().name());
}

/// One where a row has the category, else zero.
std::vector<double> indicator(const Table::Labels& labels, const std::string& category) {
  std::vector<double> column;
  column.reserve(labels.of_rows.size());
  for (const std::uint32_t label : labels.of_rows) column.push_back(labels.names[label] == category ? 1 : 0);
  return column;
}

}  // namespace

void CovariateColumns::add_numbers(const std::string& name, std::vector<double> rows, std::vector<double> targets) {
  names_.push_back(name);
  columns_.push_back(given_++);
  of_rows_.push_back(std::move(rows));
  of_targets_.push_back(std::move(targets));
}

void CovariateColumns::add_categories(const std::string& name, const Table::Labels& rows, const Table::Labels* targets,
                                      std::string_view where) {
  std::vector<std::string> categories;
  for (const Table::Labels* labels : {&rows, targets})
    for (std::size_t i = 0; labels && i < labels->names.size(); ++i)
      if (std::ranges::find(categories, labels->names[i]) == categories.end()) {
        categories.push_back(labels->names[i]);
        check(categories.size() <= kMostCategories,
              "[columns] {} has more than {} categories in column {}, expected fewer", where, kMostCategories,
              in_quotes(name));
      }
  for (const std::string& category : categories) {
    names_.push_back(name + " = " + category);
    columns_.push_back(given_);
    of_rows_.push_back(indicator(rows, category));
    of_targets_.push_back(targets ? indicator(*targets, category) : std::vector<double>());
  }
  ++given_;
}

std::vector<double> CovariateColumns::behind(std::span<const double> x,
                                             const std::vector<std::vector<double>>& columns) {
  const std::size_t rows = columns.empty() ? 0 : columns[0].size(), width = rows > 0 ? x.size() / rows : 0;
  std::vector<double> all;
  all.reserve(rows * (width + columns.size()));
  for (std::size_t i = 0; i < rows; ++i) {
    const auto own = x.subspan(i * width, width);
    all.insert(all.end(), own.begin(), own.end());
    for (const std::vector<double>& column : columns) all.push_back(column[i]);
  }
  return all;
}

WithCovariates::WithCovariates(const FillData& data, CovariateColumns covariates)
    : covariates_(std::move(covariates)), x_(covariates_.behind_rows(data.x)) {
  if (data.targets) targets_ = covariates_.behind_targets(*data.targets);
}

FillData WithCovariates::data(FillData d) const {
  const auto inputs = static_cast<std::size_t>(d.dim_x);
  d.dim_x += static_cast<std::int64_t>(covariates_.count());
  d.covariates = static_cast<std::int64_t>(covariates_.count());
  d.x = x_;
  if (d.targets) d.targets = targets_;
  d.x_names.insert(d.x_names.end(), covariates_.names().begin(), covariates_.names().end());
  d.x_forms.resize(d.x_names.size());
  for (std::size_t i = 0; i < inputs; ++i) d.x_groups.push_back(i);
  for (const std::size_t column : covariates_.columns()) d.x_groups.push_back(inputs + column);
  return d;
}

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
  for (const std::string& name : names)
    if (holds_words(table, table.format().column(name)))
      read_categories(table, targets, name, found);
    else
      read_numbers(table, targets, name, found);
  return found;
}

}  // namespace npzoo
