#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace npzoo::tools {

/// Holds the figures of a metrics.jsonl by their keys, such as "loss" and "validation_log_likelihood".
struct TrainingLog {
  struct Figure {
    std::vector<std::int64_t> steps;  // ascending
    std::vector<double> values;       // NaN where the log has null
  };
  std::map<std::string, Figure> figures;
};

/// Returns the metrics.jsonl in the folder `path`, or `path` if it is no folder.
std::filesystem::path training_log_file(const std::filesystem::path& path);

/// Reads `training_log_file(path)`. Skips lr, seconds and a last line without an end, which is still being written.
/// Throws Error if a line is not a JSON object or its "step" does not ascend (the error names the line), or if no line
/// has a figure.
TrainingLog read_training_log(const std::filesystem::path& path);

}  // namespace npzoo::tools
