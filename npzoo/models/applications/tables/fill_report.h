#pragma once

#include <optional>
#include <string>
#include <vector>

#include "npzoo/datasets/tables/column_choice.h"
#include "npzoo/datasets/tables/repeated_inputs.h"
#include "npzoo/models/applications/tables/local_prediction.h"
#include "npzoo/models/applications/tables/prediction_report.h"
#include "npzoo/models/applications/tables/table_series.h"

namespace npzoo {

/// How the series of a table compare with those of training.
struct FillReport {
  WeightsUsed weights;
  TrainingRange range;
  ColumnChoice columns;  // names, for messages
  SeriesTally tally{};
  LocalOptions local{};
  bool standardised = true;
  std::vector<ColumnForm> x_forms{};           // of the inputs
  RepeatedInputs repeated{};                   // among observed rows
  std::optional<std::string> repeated_time{};  // the first of them, if it is a wall-clock time of day
  bool around_the_world = false;               // longitudes on both sides of 180 degrees
  std::int64_t groups = 0;                     // 0: the table has no column of groups
  std::int64_t context_rows = 0;               // observed rows that are in the context of a series
  std::vector<ValueTransform> transforms{};    // of each value
  std::vector<Warning> limits{};               // of bounds beyond a limit that the values seem to have
  std::optional<PredictionReport> single{};    // of the series, if there is only one

  /// Returns the lines in front of a table of predictions: version, weights, columns, units.
  std::vector<std::string> comments() const;
  std::vector<Warning> warnings() const;

 private:
  void warn_of_far_points(std::vector<Warning>& all) const;
  void warn_of_inputs(std::vector<Warning>& all) const;
  std::vector<Warning> warnings_of_many() const;
};

/// Completes a report that has names, forms, options and the tally of an answer to this question.
void compare_with_training(const TrainedModel& trained, const TableQuestion& question, FillReport& report);

/// Adds a warning if the observed values of column `column` are never negative, but a twentieth of the lower 95 %
/// bounds of its predictions are, and the column has no limit.
void look_for_limit(std::span<const double> observed, const PredictedColumn& predicted, std::size_t column,
                    FillReport& report);

}  // namespace npzoo
