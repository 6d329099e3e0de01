#pragma once

#include <optional>
#include <string>
#include <vector>

#include "npzoo/datasets/tables/cell_parser.h"
#include "npzoo/datasets/tables/standardise.h"
#include "npzoo/models/applications/trained_model.h"
#include "npzoo/models/applications/warning.h"

namespace npzoo {

/// How the points of one task compare with those of training: units, noise, warnings.
struct PredictionReport {
  WeightsUsed weights;
  std::optional<double> std_floor;  // the least standard deviation that the model can predict, in its own units
  TrainingRange range;
  bool standardised = true;
  Standardisation units;
  std::int64_t unit_rows = 0;  // observed points that decided the units
  std::vector<std::string> x_names, y_names;
  std::vector<ColumnForm> x_forms;  // how messages show inputs; empty: as numbers
  RangeCheck context, targets;
  ValueCheck values;  // of the context

  /// Returns the lines in front of a table of predictions: version, command, weights, units and noise.
  std::vector<std::string> comments(std::string_view command = "predict") const;
  std::vector<Warning> warnings() const;
  /// Returns a value of an input as messages show it: a number or a date.
  std::string shown(std::size_t input, double x) const;

 private:
  void warn_of_constants(std::vector<Warning>& warnings) const;
  void warn_of_context_size(std::vector<Warning>& warnings) const;
  void warn_of_inputs(std::vector<Warning>& warnings, const char* what, const RangeCheck& seen) const;
  void warn_of_values(std::vector<Warning>& warnings) const;
};

/// Returns a report without points: add those of the context, its values and the targets, and the number of points that
/// decided the units.
PredictionReport prediction_report(const TrainedModel& trained, bool standardised, const Standardisation& units,
                                   const std::vector<std::string>& x_names, const std::vector<std::string>& y_names);

}  // namespace npzoo
