#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "datasets/tables/standardise.h"
#include "engine/tensor.h"

namespace npzoo {

/// The columns of a table of targets behind those in `leading`, then `prefixes`, "mean_" and "std_", each before every
/// value's name. Throws Error where one of the columns of the table, which is at `path`, has the name of another one.
std::vector<std::string> prediction_header(std::span<const std::string> leading, std::span<const std::string> columns,
                                           std::span<const std::string> prefixes, std::span<const std::string> y_names,
                                           const std::filesystem::path& path);
/// Those of `mean_` and `std_`.
std::vector<std::string> prediction_header(std::span<const std::string> leading, std::span<const std::string> columns,
                                           std::span<const std::string> y_names, const std::filesystem::path& path);

/// A number of few digits for what a float32 model says of a value, in the units of the table: `value` is `center` plus
/// a number of float32 precision.
double few_digits(double value, double center = 0);

/// Of each target the Dy means and then the Dy deviations: mean and std (1, Nt, Dy) of a float32 model, float64 on the
/// CPU, brought back by `values`, one for each of its values. These have no more digits than float32 results carry.
std::vector<double> prediction_rows(const Tensor& mean, const Tensor& std, std::span<const ValueMap> values);

/// The targets' columns, `sample` and the values. Throws Error where one of them, from the tables `targets` and
/// `context`, is called sample as well.
std::vector<std::string> sample_header(std::span<const std::string> x_names, std::span<const std::string> y_names,
                                       const std::filesystem::path& targets, const std::filesystem::path& context);

/// Of each target its samples (n, 1, Nt, Dy), the number of each from 1 on before its values. They are brought back as
/// those of `prediction_rows`.
std::vector<double> sample_rows(const Tensor& samples, std::span<const ValueMap> values);

}  // namespace npzoo
