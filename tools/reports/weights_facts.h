#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "tools/cli/json_value.h"
#include "tools/reports/scores.h"

namespace npzoo::tools {

/// Facts about a file of weights or of a training.
struct WeightsFacts {
  std::int64_t dim_x = 0, dim_y = 0;
  std::int64_t parameters = 0;
  std::int64_t bytes = 0;         // of the file
  std::vector<TestScore> scores;  // none of a training
};

WeightsFacts facts_of(const std::filesystem::path& path, const Checkpoint& checkpoint);

/// Model, protocol, sizes, training and scores.
JsonValue to_json(const WeightsFacts& facts, const Checkpoint& checkpoint);

/// "0.9 MB"
std::string format_bytes(std::int64_t bytes);

/// The card that lies beside weights, MODEL.card.md beside MODEL.safetensors; none if there is no such file.
std::optional<std::string> card_beside(const std::filesystem::path& weights);

/// A card of what the file itself tells: how it was trained, on what, and how it scores. `name` heads it.
std::string card_from(const std::string& name, const WeightsFacts& facts, const Checkpoint& checkpoint);

}  // namespace npzoo::tools
