#include "npzoo/datasets/tables/prediction_rows.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string_view>
#include <unordered_map>

#include "npzoo/engine/error.h"
#include "npzoo/engine/io/parse_number.h"

namespace npzoo {

std::vector<std::string> prediction_header(std::span<const std::string> leading, std::span<const std::string> columns,
                                           std::span<const std::string> prefixes, std::span<const std::string> y_names,
                                           const std::filesystem::path& path) {
  std::vector<std::string> header(leading.begin(), leading.end());
  header.insert(header.end(), columns.begin(), columns.end());
  for (const std::string& prefix : prefixes)
    for (const std::string& name : y_names) header.push_back(prefix + name);
  std::unordered_map<std::string_view, int> counts;
  for (const std::string& name : header) ++counts[name];
  for (const std::string& name : columns)
    check(name.empty() || counts[name] == 1,
          "[targets] {}: a column is called {}, expected another name: the output has one for the predictions",
          path.string(), name);
  return header;
}

std::vector<std::string> prediction_header(std::span<const std::string> leading, std::span<const std::string> columns,
                                           std::span<const std::string> y_names, const std::filesystem::path& path) {
  const std::string prefixes[] = {"mean_", "std_"};
  return prediction_header(leading, columns, prefixes, y_names, path);
}

namespace {

/// The decimal exponent of the first digit; `x` is not 0.
int exponent(double x) { return static_cast<int>(std::floor(std::log10(std::abs(x)))); }

/// The multiple of 10^`place` that is nearest to `value`, as text of up to 17 digits holds it.
double at_place(double value, int place) {
  if (value == 0) return value;
  const int decimals = exponent(value) - place;
  if (decimals < 0)
    return 2 * std::abs(value) < std::pow(10.0, place) ? 0 : std::copysign(std::pow(10.0, place), value);
  char text[32];
  const auto end =
      std::to_chars(text, text + sizeof text, value, std::chars_format::scientific, std::min(decimals, 16)).ptr;
  double result = value;
  parse_number({text, end}, result);
  return result;
}

}  // namespace

double round_to_std(double value, double std, std::int64_t digits) {
  if (!(std > 0) || !std::isfinite(std) || !std::isfinite(value)) return value;
  return at_place(value, exponent(std) + 1 - static_cast<int>(digits));
}

double few_digits(double value, double center) {
  constexpr double kUlp = 0x1p-24;  // at least, relative to a float32
  const double error = std::abs(value - center) * kUlp;
  if (value == 0 || !(error > 0) || !std::isfinite(value)) return value;
  return at_place(value, std::min(exponent(error), exponent(value)));
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

}  // namespace npzoo
