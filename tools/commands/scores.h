#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "models/training/checkpoint.h"

namespace npzoo {

// Reads what `npzoo eval --json` prints. An evaluation.json has it under "results".

/// The scores of these very weights at `path`, as JSON. Throws Error for those of others, and for what is no scores.
std::string read_scores(const std::filesystem::path& path, const Checkpoint& checkpoint);

/// Whether `path` is an evaluation.json of `npzoo reproduce` of the weights with this checksum.
bool is_reproduced(const std::filesystem::path& path, const std::string& weights);

struct TestScore {
  std::string test;
  double log_likelihood = 0;
  std::optional<double> standard_error;
};

/// Of exported weights, the first test's first. Throws Error where there is another thing.
std::vector<TestScore> scores_of(const Provenance& weights);

}  // namespace npzoo
