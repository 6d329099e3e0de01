#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "npzoo/models/training/checkpoint.h"

namespace npzoo {

/// A model with trained weights, and the record of its training.
struct TrainedModel {
  Checkpoint checkpoint;
  std::unique_ptr<Model> model;
};

/// Loads weights by their name or their file (see find_weights). Throws Error if there are none, or if the file is
/// damaged.
TrainedModel load_model(const std::string& weights);

/// The weights that made a result.
struct WeightsUsed {
  std::string model{}, protocol{};  // "tnp-d", "tnp/gp-rbf"; "gp" and none of a fitted Gaussian process
  std::uint64_t seed = 0;           // of the training
  std::int64_t steps = 0;           // of the training

  /// Returns the first line of a table of results: version, command and weights.
  std::string made_by(std::string_view command) const;
  /// Returns "tnp-d:tnp/gp-rbf", or "gp".
  std::string name() const;
};

WeightsUsed weights_used(const Checkpoint& checkpoint);

}  // namespace npzoo
