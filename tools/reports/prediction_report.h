#pragma once

#include <optional>
#include <string>
#include <vector>

#include "npzoo/datasets/tables/cell_parser.h"
#include "npzoo/datasets/tables/standardise.h"
#include "npzoo/models/training/checkpoint.h"
#include "tools/cli/json_value.h"

namespace npzoo {

/// Where a table leaves what the model has seen in training.
struct Warning {
  std::string about;  // the same for the same matter, however the numbers in the text change
  std::string text;
};

/// The texts alone.
JsonValue to_json(const std::vector<Warning>& warnings);

/// All that `predict` and `stream` tell about how a table met a model.
struct PredictionReport {
  const TrainingRun& run;
  std::int64_t steps = 0;           // of training
  std::optional<double> std_floor;  // in the units of the model
  TrainingRange range;
  bool standardised = true;
  Standardisation units;
  std::vector<std::string> x_names, y_names;
  std::vector<ColumnForm> x_forms;  // how inputs are shown; empty: as numbers
  RangeCheck context, targets;
  ValueCheck values;  // of the context

  /// Lines in front of the predictions: who made them, model, units, noise.
  std::vector<std::string> comments(std::string_view command = "predict") const;
  std::vector<Warning> warnings() const;
  /// `standardised`, `inputs`, `values` and `warnings`.
  JsonValue json() const;

 private:
  std::string shown(std::size_t input, double x) const;
  void warn_of_constants(std::vector<Warning>& warnings) const;
  void warn_of_context_size(std::vector<Warning>& warnings) const;
  void warn_of_inputs(std::vector<Warning>& warnings, const char* what, const RangeCheck& seen) const;
  void warn_of_values(std::vector<Warning>& warnings) const;
};

/// Of a model that is about to see a table in the given units; nothing of it is counted yet.
PredictionReport prediction_report(const Checkpoint& checkpoint, const Model& model, bool standardised,
                                   const Standardisation& units, const std::vector<std::string>& x_names,
                                   const std::vector<std::string>& y_names);

}  // namespace npzoo
