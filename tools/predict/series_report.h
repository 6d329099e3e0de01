#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "npzoo/datasets/tables/repeated_inputs.h"
#include "npzoo/models/applications/tables/table_series.h"
#include "tools/predict/options.h"
#include "tools/reports/prediction_report.h"

namespace npzoo {

/// What `predict` tells of a table whose columns and groups are series.
struct SeriesReport {
  const Checkpoint& checkpoint;
  const ColumnChoice& columns;
  const TableAnswer& answer;
  LocalOptions local;
  bool standardised = true;
  std::vector<ColumnForm> x_forms{};           // of the inputs
  RepeatedInputs repeated{};                   // among observed rows
  std::optional<std::string> repeated_time{};  // the first of them, of a clock on the wall
  bool around_the_world = false;               // longitudes on both sides of 180 degrees
  std::int64_t groups = 0;                     // 0: none
  std::int64_t context_rows = 0;               // in the context of a series
  std::optional<PredictionReport> single{};    // of the series, where there is one alone

  /// Lines in front of the predictions: model, the columns that were taken, units.
  std::vector<std::string> comments() const;
  std::vector<Warning> warnings() const;
  /// The result as JSON where it was asked for, or how the predictions fit the truth where that is known.
  void print(const PredictOptions& c, std::int64_t rows, std::span<const std::vector<double>> truth,
             double seconds) const;

 private:
  void warn_of_far_points(std::vector<Warning>& all) const;
  void warn_of_inputs(std::vector<Warning>& all) const;
  std::vector<Warning> warnings_of_many() const;
  JsonValue json() const;
};

/// `forms` are those of the inputs.
SeriesReport series_report(const PredictOptions& c, const Checkpoint& checkpoint, const Model& model,
                           const ColumnChoice& columns, const LocalOptions& local, const TableQuestion& question,
                           const TableAnswer& answer, const std::vector<ColumnForm>& forms);

}  // namespace npzoo
