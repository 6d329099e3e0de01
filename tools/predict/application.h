#pragma once

#include <span>
#include <string>

#include "npzoo/models/applications/trained_model.h"
#include "tools/predict/options.h"

namespace npzoo::tools {

/// The function that `predict` runs with the weights of some tasks, and the flags it takes.
struct PredictApplication {
  Application application;
  const char* plural;  // "forecasts": what its models predict
  bool takes_horizon = false, takes_now = false;
  bool adds_rows = false;       // --grid and --add-rows
  bool explains = false;        // --explain
  bool draws_samples = false;   // in --plot
  bool autoregressive = false;  // --autoregressive
  /// Returns the exit status.
  int (*run)(const PredictOptions& options, const TrainedModel& trained, Job& job);
};

/// The row for these weights. Throws Error if the options have a flag that this application does not take.
const PredictApplication& application_of(const TrainedModel& trained, const PredictOptions& options);
/// Throws Error if the options say how cells are read, or what limits values have: forecasts and events do not look.
void check_no_cell_flags(const PredictOptions& options);
/// The same, but the options may say how cells are read.
void check_no_table_flags(const PredictOptions& options);
/// Prints one line about a prediction to standard error, or with --verbose its facts, unless these are in the table or
/// in the JSON.
void show_facts(const PredictOptions& options, const std::string& summary, std::span<const std::string> facts);

/// Throws Error if the options have a flag that tables without weights do not take.
void check_flags_of_tables(const PredictOptions& options);

/// Fills tables, whose columns and groups are series; tables are held in memory. Without weights uses those for tables
/// of as many inputs. Returns the exit status.
int predict_tables(const PredictOptions& options, const TrainedModel* trained, Job& job);
/// Predicts at the targets given the whole context as one task; reads targets a chunk at a time.
int predict_points(const PredictOptions& options, const TrainedModel& trained);
/// Predicts the events that follow each sequence of a table.
int predict_events(const PredictOptions& options, const TrainedModel& trained);
/// Whether the table holds events, and no flag asks for another application.
bool are_events(const PredictOptions& options);
/// Predicts the rows that follow the end of a table.
int predict_forecast(const PredictOptions& options, const TrainedModel& trained);

}  // namespace npzoo::tools
