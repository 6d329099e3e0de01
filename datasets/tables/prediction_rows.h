#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "datasets/tables/standardise.h"
#include "engine/tensor.h"

namespace npzoo {

/// x, mean_* and std_*, behind the columns `leading`. Throws Error where a column of the targets, which `path` holds,
/// has the name of another one.
std::vector<std::string> prediction_header(std::span<const std::string> leading, std::span<const std::string> x_names,
                                           std::span<const std::string> y_names, const std::filesystem::path& path);

/// One row for each target of `x` (row-major): the numbers `leading`, then x, and mean and std (1, Nt, Dy) of a float32
/// model, float64 on the CPU, brought back by `values`, one for each of its values. These have no more digits than
/// float32 results carry.
std::vector<double> prediction_rows(std::span<const double> leading, std::span<const double> x, std::size_t dim_x,
                                    const Tensor& mean, const Tensor& std, std::span<const ValueMap> values);

/// x, `sample` and the values. Throws Error where one of them, from the tables `targets` and `context`, is called
/// sample as well.
std::vector<std::string> sample_header(std::span<const std::string> x_names, std::span<const std::string> y_names,
                                       const std::filesystem::path& targets, const std::filesystem::path& context);

/// One row for each target of `x` and each of its samples (n, 1, Nt, Dy), which are numbered from 1 on: those of a
/// target stand together. Values are brought back as those of `prediction_rows`.
std::vector<double> sample_rows(std::span<const double> x, std::size_t dim_x, const Tensor& samples,
                                std::span<const ValueMap> values);

}  // namespace npzoo
