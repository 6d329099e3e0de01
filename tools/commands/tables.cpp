#include "tools/commands/tables.h"

#include <algorithm>
#include <charconv>
#include <cmath>

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

std::vector<std::string> prediction_header(std::span<const std::string> leading, std::span<const std::string> x_names,
                                           std::span<const std::string> y_names, const std::filesystem::path& path) {
  std::vector<std::string> header(leading.begin(), leading.end());
  header.insert(header.end(), x_names.begin(), x_names.end());
  for (const char* prefix : {"mean_", "std_"})
    for (const std::string& name : y_names) header.push_back(prefix + name);
  for (const std::string& name : x_names)
    check(std::ranges::count(header, name) == 1,
          "[targets] {}: a column is called {}, expected another name: the output has one for the predictions",
          path.string(), name);
  return header;
}

namespace {

/// A decimal number of few digits within `error` of `value`.
double rounded(double value, double error) {
  if (value == 0 || !(error > 0) || !std::isfinite(value)) return value;
  const auto exponent = [](double x) { return static_cast<int>(std::floor(std::log10(x))); };
  const int decimals = std::clamp(exponent(std::abs(value)) - exponent(2 * error), 0, 16);
  char text[32];
  const auto end = std::to_chars(text, text + sizeof text, value, std::chars_format::scientific, decimals).ptr;
  double result = value;
  std::from_chars(text, end, result);
  return result;
}

}  // namespace

std::vector<double> prediction_rows(std::span<const double> leading, std::span<const double> x, std::size_t dim_x,
                                    const Prediction& prediction, std::span<const ValueMap> values) {
  constexpr double kHalfUlp = 0x1p-25;  // at least, relative to a float32
  const std::size_t dim_y = values.size();
  const Tensor means = prediction.mean.to(Device::cpu), deviations = prediction.std.to(Device::cpu);
  const auto mean = means.values<float>(), std = deviations.values<float>();
  std::vector<double> rows;
  rows.reserve(x.size() / dim_x * (leading.size() + dim_x + 2 * dim_y));
  for (std::size_t i = 0; i * dim_x < x.size(); ++i) {
    rows.insert(rows.end(), leading.begin(), leading.end());
    for (const double value : x.subspan(i * dim_x, dim_x)) rows.push_back(value);
    for (std::size_t j = 0; j < dim_y; ++j) {
      const double m = mean[i * dim_y + j];
      rows.push_back(rounded(values[j].mean(m), values[j].std(std::abs(m)) * kHalfUlp));
    }
    for (std::size_t j = 0; j < dim_y; ++j) {
      const double s = values[j].std(std[i * dim_y + j]);
      rows.push_back(rounded(s, s * kHalfUlp));
    }
  }
  return rows;
}

}  // namespace npzoo
