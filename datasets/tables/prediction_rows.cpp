#include "datasets/tables/prediction_rows.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "engine/error.h"

namespace npzoo {

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

constexpr double kHalfUlp = 0x1p-25;  // at least, relative to a float32

}  // namespace

std::vector<double> prediction_rows(std::span<const double> leading, std::span<const double> x, std::size_t dim_x,
                                    const Tensor& mean, const Tensor& std, std::span<const ValueMap> values) {
  const std::size_t dim_y = values.size();
  const auto means = mean.values<double>(), deviations = std.values<double>();
  std::vector<double> rows;
  rows.reserve(x.size() / dim_x * (leading.size() + dim_x + 2 * dim_y));
  for (std::size_t i = 0; i * dim_x < x.size(); ++i) {
    rows.insert(rows.end(), leading.begin(), leading.end());
    for (const double value : x.subspan(i * dim_x, dim_x)) rows.push_back(value);
    for (std::size_t j = 0; j < dim_y; ++j) {
      const double m = means[i * dim_y + j];
      rows.push_back(rounded(values[j].mean(m), values[j].std(std::abs(m)) * kHalfUlp));
    }
    for (std::size_t j = 0; j < dim_y; ++j) {
      const double s = values[j].std(deviations[i * dim_y + j]);
      rows.push_back(rounded(s, s * kHalfUlp));
    }
  }
  return rows;
}

std::vector<std::string> sample_header(std::span<const std::string> x_names, std::span<const std::string> y_names,
                                       const std::filesystem::path& targets, const std::filesystem::path& context) {
  constexpr const char* kSample = "sample";
  std::vector<std::string> header(x_names.begin(), x_names.end());
  header.emplace_back(kSample);
  header.insert(header.end(), y_names.begin(), y_names.end());
  const bool of_targets = std::ranges::count(x_names, kSample) > 0;
  check(std::ranges::count(header, kSample) == 1,
        "[{}] {}: a column is called {}, expected another name: the output has one for the number of a sample",
        of_targets ? "targets" : "context", (of_targets ? targets : context).string(), kSample);
  return header;
}

std::vector<double> sample_rows(std::span<const double> x, std::size_t dim_x, const Tensor& samples,
                                std::span<const ValueMap> values) {
  const std::size_t dim_y = values.size(), targets = x.size() / dim_x, width = targets * dim_y;
  const auto count = static_cast<std::size_t>(samples.dim(0));
  const auto drawn = samples.values<double>();
  std::vector<double> rows;
  rows.reserve(targets * count * (dim_x + 1 + dim_y));
  for (std::size_t i = 0; i < targets; ++i)
    for (std::size_t k = 0; k < count; ++k) {
      for (const double value : x.subspan(i * dim_x, dim_x)) rows.push_back(value);
      rows.push_back(static_cast<double>(k + 1));
      for (std::size_t j = 0; j < dim_y; ++j) {
        const double y = drawn[k * width + i * dim_y + j];
        rows.push_back(rounded(values[j].mean(y), values[j].std(std::abs(y)) * kHalfUlp));
      }
    }
  return rows;
}

}  // namespace npzoo
