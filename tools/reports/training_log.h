#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace npzoo {

/// What a metrics.jsonl tells of a training: its figures by their keys, such as "loss" and "validation_log_likelihood".
struct TrainingLog {
  struct Figure {
    std::vector<std::int64_t> steps;  // ascending
    std::vector<double> values;       // NaN where the log has null
  };
  std::map<std::string, Figure> figures;
};

/// Where the log of a run is: in its folder `path`, or `path` itself.
std::filesystem::path training_log_file(const std::filesystem::path& path);

/// Reads `training_log_file(path)`. A last line that is still being written is left out; keys that
/// only tell of the updates (lr, seconds) are, too. Throws Error that names the line for anything but objects whose
/// "step" ascends, and for a log without a figure.
TrainingLog read_training_log(const std::filesystem::path& path);

}  // namespace npzoo
