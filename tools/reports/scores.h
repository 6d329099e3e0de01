#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "npzoo/models/training/checkpoint.h"

namespace npzoo::tools {

// Reads what `npzoo eval --json` prints. An evaluation.json has it under "results".

/// The scores of these very weights at `path`, as JSON. Throws Error for those of others, and for what is no scores.
std::string read_scores(const std::filesystem::path& path, const Checkpoint& checkpoint);

/// Whether `path` is an evaluation.json of `npzoo reproduce` of the weights with this checksum.
bool is_reproduced(const std::filesystem::path& path, const std::string& weights);

struct TestScore {
  std::string test;
  std::string figure;  // "log_likelihood"
  double value = 0;
  std::optional<double> standard_error;
};

/// Returns each test's headline from exported weights, the first test first. Throws Error for other contents.
std::vector<TestScore> scores_of(const Provenance& weights);

/// "log-likelihood: rbf 1.380 ± 0.013, matern52 0.952 ± 0.012"
std::string in_words(const std::vector<TestScore>& scores);

}  // namespace npzoo::tools
