#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "npzoo/datasets/tables/column_choice.h"
#include "npzoo/datasets/tables/prediction_rows.h"
#include "npzoo/models/training/checkpoint.h"
#include "tools/cli/common_options.h"

namespace npzoo {

/// What `npzoo predict` is asked for.
struct PredictOptions {
  CommonOptions common;
  std::string checkpoint;              // empty: the weights for tables of as many inputs
  std::filesystem::path table;         // observed points and, without targets, those to fill
  bool strict = false;                 // the table came by --context: no value may be missing
  std::filesystem::path targets, out;  // empty: none
  std::filesystem::path plot;          // empty: no picture
  ColumnChoice columns;                // empty where nothing was said
  std::vector<double> quantiles;
  std::int64_t digits = kStdDigits;  // significant ones of a standard deviation
  std::filesystem::path truth;       // empty: not known
  bool as_is = false;                // no standardisation
  std::int64_t neighbours = 0;       // 0: as many as the weights are good for
  std::int64_t chunk = 4096;
  std::int64_t samples = 0;
  std::filesystem::path samples_out;  // empty: none
  std::optional<double> now;          // of events, in the table's unit: until when nothing more has happened
  std::optional<double> horizon;      // of a forecast, steps; of events, how long after the last one samples go on
};

inline constexpr std::int64_t kAllRows = std::numeric_limits<std::int64_t>::max();
/// The most in a picture: of one input, or of a map.
inline constexpr std::int64_t most_drawn_rows(std::size_t dim_x) { return dim_x == 1 ? 100'000 : 10'000'000; }

struct TrainedModel {
  Checkpoint checkpoint;
  std::unique_ptr<Model> model;
};

/// By a file or a name.
TrainedModel load_model(const std::string& weights);

/// Two tables as they stand: the whole context as one task, targets a chunk at a time as they come. Returns the exit
/// status.
int predict_one_task(const PredictOptions& options, const TrainedModel& trained);
/// Every value column of every group as a series of its own, or all columns of a group where the model has several
/// values; tables are held in memory. Without a model by the default weights. Returns the exit status.
int predict_series(const PredictOptions& options, std::optional<TrainedModel> trained);
/// What comes after the events of each sequence of a table. Returns the exit status.
int predict_events(const PredictOptions& options, const TrainedModel& trained);
/// What comes behind the end of a table, by a model that was trained to forecast. Returns the exit status.
int predict_forecast(const PredictOptions& options, const TrainedModel& trained);

}  // namespace npzoo
