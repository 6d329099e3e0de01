#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "models/standardise.h"
#include "models/training/checkpoint.h"

namespace npzoo {

/// All that `npzoo predict` tells about how a table met a model.
struct PredictionReport {
  const TrainingRun& run;
  std::int64_t steps = 0;  // of training
  double std_floor = 0;    // in the units of the model
  TrainingRange range;
  bool standardised = true;
  Standardisation units;
  std::vector<std::string> x_names, y_names;
  RangeCheck context, targets;

  /// Lines in front of the predictions: model, units, noise.
  std::vector<std::string> comments() const;
  /// Where the table leaves what the model has seen in training, one line each.
  std::vector<std::string> warnings() const;
  /// `standardised`, `inputs`, `values` and `warnings`.
  nlohmann::json json() const;
};

}  // namespace npzoo
