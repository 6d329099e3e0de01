#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "npzoo/datasets/tables/cell_parser.h"

namespace npzoo {

/// Measured rows in any order, without those that lack a time.
struct Measurements {
  ColumnForm time_form;        // numbers, or days since a day
  std::vector<double> time{};  // (rows)
  std::vector<double> y{};     // (rows, Dy), NaN if a value is missing
};

/// Reads a table by TableReader. Throws Error if a column is missing.
Measurements read_measurements(const std::filesystem::path& path, const std::string& time,
                               std::span<const std::string> values);

/// A series that has been published, in the form that its makers chose.
struct KnownSeries {
  std::string_view name;      // in protocols
  std::string_view file;      // under the data folder
  std::string_view columns;   // of values, with commas between them
  std::string_view obtained;  // where it can be had
  Measurements (*read)(const std::filesystem::path& path, std::span<const std::string> values);

  /// Throws Error if the file is not at hand.
  Measurements measurements(std::span<const std::string> values) const;
};

std::span<const KnownSeries> known_series();

}  // namespace npzoo
