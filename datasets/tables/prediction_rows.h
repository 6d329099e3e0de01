#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace npzoo {

/// The columns of a table of targets behind those in `leading`, then `prefixes`, "mean_" and "std_", each before every
/// value's name. Throws Error if one of the columns of the table, which is at `path`, has the name of another one.
std::vector<std::string> prediction_header(std::span<const std::string> leading, std::span<const std::string> columns,
                                           std::span<const std::string> prefixes, std::span<const std::string> y_names,
                                           const std::filesystem::path& path);
/// Those of `mean_` and `std_`.
std::vector<std::string> prediction_header(std::span<const std::string> leading, std::span<const std::string> columns,
                                           std::span<const std::string> y_names, const std::filesystem::path& path);

/// Significant digits of a standard deviation, unless a flag says otherwise.
inline constexpr std::int64_t kStdDigits = 4;
/// A float32 model knows no more of them.
inline constexpr std::int64_t kMostStdDigits = 9;

/// Rounds `value` to the decimal place of the last of `digits` significant digits of `std`. Means, quantiles and
/// samples written so have as many decimals as their standard deviation. Returns `value` unless `std` is positive and
/// finite.
double round_to_std(double value, double std, std::int64_t digits = kStdDigits);

/// Rounds a sum of `center` and a number of float32 precision to the digits that it can have.
double few_digits(double value, double center = 0);

/// The targets' columns, `sample` and the values. Throws Error if one of them, from the tables `targets` and
/// `context`, is called sample as well.
std::vector<std::string> sample_header(std::span<const std::string> x_names, std::span<const std::string> y_names,
                                       const std::filesystem::path& targets, const std::filesystem::path& context);

}  // namespace npzoo
