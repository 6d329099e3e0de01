#include "npzoo/datasets/tables/points.h"

#include <algorithm>

#include "npzoo/engine/error.h"

namespace npzoo {

Tensor to_points(std::span<const double> rows, std::size_t width) {
  Tensor points = Tensor::empty({1, static_cast<std::int64_t>(rows.size() / width), static_cast<std::int64_t>(width)},
                                DType::float32, Device::cpu);
  std::ranges::transform(rows, points.values<float>().begin(), [](double value) { return static_cast<float>(value); });
  return points.to(default_device());
}

TargetReader::TargetReader(const std::filesystem::path& path, std::int64_t dim_x)
    : reader_(path), parser_(reader_.format()) {
  reader_.format().check_named();
  check(static_cast<std::int64_t>(x_names().size()) == dim_x,
        "[targets] {}: {} columns found, expected {} for the inputs of the model", path.string(), x_names().size(),
        dim_x);
}

void TargetReader::set_forms(const std::vector<ColumnForm>& forms) {
  for (std::size_t i = 0; i < forms.size(); ++i) parser_.set_form(i, forms[i]);
}

void TargetReader::read(std::int64_t max_rows, TargetRows& rows) {
  rows.text.clear();
  rows.x.clear();
  while (rows.count() < max_rows && reader_.next()) {
    const auto& cells = reader_.cells();
    for (std::size_t i = 0; i < cells.size(); ++i) rows.x.push_back(parser_.required(cells[i], i, reader_.line()));
    rows.text.emplace_back(reader_.text());
  }
}

ContextReader::ContextReader(const std::filesystem::path& path, std::span<const std::string> x_names,
                             std::int64_t dim_y)
    : reader_(path), parser_(reader_.format()) {
  reader_.format().check_named();
  for (const std::string& name : x_names) x_columns_.push_back(reader_.format().column(name));
  for (std::size_t i = 0; i < reader_.header().size(); ++i) {
    if (std::ranges::find(x_columns_, i) != x_columns_.end()) continue;
    y_columns_.push_back(i);
    y_names_.push_back(reader_.header()[i]);
  }
  check(static_cast<std::int64_t>(y_columns_.size()) == dim_y,
        "[context] {}: {} columns besides those of the targets, expected {} (the values that the model predicts)",
        path.string(), y_columns_.size(), dim_y);
}

std::vector<ColumnForm> ContextReader::forms() const {
  std::vector<ColumnForm> forms;
  for (const std::size_t column : x_columns_) forms.push_back(parser_.form(column));
  return forms;
}

void ContextReader::set_forms(const std::vector<ColumnForm>& forms) {
  for (std::size_t i = 0; i < x_columns_.size(); ++i) parser_.set_form(x_columns_[i], forms[i]);
}

ObservedRows ContextReader::read(std::int64_t max_rows) {
  ObservedRows observed;
  for (; observed.count < max_rows && reader_.next(); ++observed.count) {
    const auto& cells = reader_.cells();
    const auto number = [&](std::size_t column) { return parser_.required(cells[column], column, reader_.line()); };
    for (const std::size_t column : x_columns_) observed.x.push_back(number(column));
    for (const std::size_t column : y_columns_) observed.y.push_back(number(column));
  }
  return observed;
}

}  // namespace npzoo
