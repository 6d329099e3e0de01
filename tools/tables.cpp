#include "tools/tables.h"

#include <algorithm>
#include <charconv>
#include <numeric>

namespace npzoo {

Tensor to_points(std::span<const double> rows, std::size_t width, std::span<const std::size_t> columns) {
  const std::size_t count = rows.size() / width;
  Tensor points = Tensor::empty({1, static_cast<std::int64_t>(count), static_cast<std::int64_t>(columns.size())},
                                DType::float32, Device::cpu);
  auto out = points.values<float>().begin();
  for (std::size_t row = 0; row < count; ++row)
    for (const std::size_t column : columns) *out++ = static_cast<float>(rows[row * width + column]);
  return points.to(default_device());
}

Tensor to_points(std::span<const double> rows, std::size_t width) {
  std::vector<std::size_t> columns(width);
  std::iota(columns.begin(), columns.end(), 0);
  return to_points(rows, width, columns);
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

Context ContextReader::read(std::int64_t max_rows) {
  rows_.clear();
  reader_.read(max_rows, rows_);
  const std::size_t width = reader_.header().size();
  return {to_points(rows_, width, x_columns_), to_points(rows_, width, y_columns_), {}};
}

std::vector<std::string> prediction_header(std::span<const std::string> leading, std::span<const std::string> x_names,
                                           std::span<const std::string> y_names) {
  std::vector<std::string> header(leading.begin(), leading.end());
  header.insert(header.end(), x_names.begin(), x_names.end());
  for (const char* prefix : {"mean_", "std_"})
    for (const std::string& name : y_names) header.push_back(prefix + name);
  return header;
}

namespace {

/// The double with the fewest digits that rounds to `value`: float32 results carry no more.
double fewest_digits(float value) {
  char text[32];
  const auto end = std::to_chars(text, text + sizeof text, value).ptr;
  double result = value;
  std::from_chars(text, end, result);
  return result;
}

}  // namespace

std::vector<double> prediction_rows(std::span<const double> leading, std::span<const double> x, std::size_t dim_x,
                                    const Prediction& prediction) {
  const auto dim_y = static_cast<std::size_t>(prediction.mean.dim(-1));
  const Tensor means = prediction.mean.to(Device::cpu), deviations = prediction.std.to(Device::cpu);
  const auto mean = means.values<float>(), std = deviations.values<float>();
  std::vector<double> rows;
  rows.reserve(x.size() / dim_x * (leading.size() + dim_x + 2 * dim_y));
  for (std::size_t i = 0; i * dim_x < x.size(); ++i) {
    rows.insert(rows.end(), leading.begin(), leading.end());
    for (const double value : x.subspan(i * dim_x, dim_x)) rows.push_back(value);
    for (const auto& values : {mean, std})
      for (const float value : values.subspan(i * dim_y, dim_y)) rows.push_back(fewest_digits(value));
  }
  return rows;
}

}  // namespace npzoo
