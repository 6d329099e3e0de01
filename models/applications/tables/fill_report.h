#pragma once

#include <optional>
#include <string>
#include <vector>

#include "npzoo/datasets/tables/column_choice.h"
#include "npzoo/datasets/tables/repeated_inputs.h"
#include "npzoo/models/applications/tables/column_help.h"
#include "npzoo/models/applications/tables/local_prediction.h"
#include "npzoo/models/applications/tables/prediction_report.h"
#include "npzoo/models/applications/tables/table_series.h"

namespace npzoo {

/// How the series of a table compare with those of training.
struct FillReport {
  WeightsUsed weights{};
  TrainingRange range{};
  ColumnChoice columns{};            // names, for messages
  std::vector<std::string> table{};  // how a table was understood (see understood.h), for `comments`
  SeriesTally tally{};
  LocalOptions local{};
  std::int64_t combined_ends = 0;  // series whose end was forecast by a combination
  bool standardised = true;
  bool fitted = false;                         // by Gaussian processes, so that there was no training
  std::vector<std::string> notes{};            // more lines for `comments`: how inputs were taken, and what was fitted
  std::vector<ColumnForm> x_forms{};           // of the inputs
  RepeatedInputs repeated{};                   // among observed rows
  std::optional<std::string> repeated_time{};  // the first of them, if it is a wall-clock time of day
  std::string around_the_world{};              // why longitudes should be those of a sphere; empty: no reason
  std::int64_t groups = 0;                     // 0: the table has no column of groups
  std::int64_t context_rows = 0;               // observed rows that are in the context of a series
  std::vector<ValueTransform> transforms{};    // of each value
  std::optional<ColumnHelp> help{};            // if columns could help each other
  std::optional<PredictionReport> single{};    // of the series, if there is only one

  /// Returns the lines in front of a table of predictions: version, weights, columns, units.
  std::vector<std::string> comments() const;
  std::vector<Warning> warnings() const;

 private:
  void warn_of_far_points(std::vector<Warning>& all) const;
  void warn_of_inputs(std::vector<Warning>& all) const;
  std::vector<Warning> warnings_of_many() const;
};

/// Counts rows with a context, for a model of `dim_y` values, and looks at the inputs.
void describe_inputs(const TableQuestion& question, std::int64_t dim_y, FillReport& report);
/// Completes a report that has names, forms, options and the tally of an answer to this question.
void compare_with_training(const TrainedModel& trained, const TableQuestion& question, FillReport& report);

}  // namespace npzoo
