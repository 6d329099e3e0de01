#include "datasets/tables/points.h"

#include <algorithm>

#include "engine/error.h"

namespace npzoo {

Tensor to_points(std::span<const double> rows, std::size_t width) {
  Tensor points = Tensor::empty({1, static_cast<std::int64_t>(rows.size() / width), static_cast<std::int64_t>(width)},
                                DType::float32, Device::cpu);
  std::ranges::transform(rows, points.values<float>().begin(), [](double value) { return static_cast<float>(value); });
  return points.to(default_device());
}

TargetReader::TargetReader(const std::filesystem::path& path, std::int64_t dim_x, std::function<bool()> give_up)
    : reader_(path, std::move(give_up)) {
  check(static_cast<std::int64_t>(x_names().size()) == dim_x, "[targets] {}: {} columns, the model takes {} inputs",
        path.string(), x_names().size(), dim_x);
}

std::int64_t TargetReader::read(std::int64_t max_rows, std::vector<double>& x) {
  x.clear();
  return reader_.read(max_rows, x);
}

ContextReader::ContextReader(const std::filesystem::path& path, std::span<const std::string> x_names,
                             std::int64_t dim_y, std::function<bool()> give_up)
    : reader_(path, std::move(give_up)) {
  for (const std::string& name : x_names) x_columns_.push_back(reader_.column(name));
  for (std::size_t i = 0; i < reader_.header().size(); ++i) {
    if (std::ranges::find(x_columns_, i) != x_columns_.end()) continue;
    y_columns_.push_back(i);
    y_names_.push_back(reader_.header()[i]);
  }
  check(static_cast<std::int64_t>(y_columns_.size()) == dim_y,
        "[context] {}: {} columns besides those of the targets, expected {} (the values that the model predicts)",
        path.string(), y_columns_.size(), dim_y);
}

ObservedRows ContextReader::read(std::int64_t max_rows) {
  rows_.clear();
  ObservedRows observed{reader_.read(max_rows, rows_), {}, {}};
  for (auto row = rows_.begin(); row != rows_.end(); row += static_cast<std::ptrdiff_t>(reader_.header().size())) {
    for (const std::size_t column : x_columns_) observed.x.push_back(row[column]);
    for (const std::size_t column : y_columns_) observed.y.push_back(row[column]);
  }
  return observed;
}

}  // namespace npzoo
