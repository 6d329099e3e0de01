#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "npzoo/datasets/tables/column_choice.h"
#include "npzoo/datasets/tables/prediction_rows.h"
#include "npzoo/datasets/tables/table.h"
#include "npzoo/models/applications/tables/added_rows.h"
#include "npzoo/models/applications/tables/transform_choice.h"
#include "tools/cli/common_options.h"
#include "tools/cli/shared_job.h"

namespace npzoo::tools {

/// The flags of `npzoo predict`.
struct PredictOptions {
  CommonOptions common;
  std::string checkpoint;              // empty: the weights for tables of as many inputs
  std::string model = "auto";          // of tables without a checkpoint: auto, weights or gp
  std::string kernel;                  // of a Gaussian process; empty: the likeliest of four
  bool linear_mean = false;            // of a Gaussian process, in all inputs
  bool lonlat = false;                 // the first two inputs are longitude and latitude
  bool baselines = false;              // score other methods as well
  std::filesystem::path table;         // observed points and, without targets, those to fill
  bool strict = false;                 // the table came by --context: no value may be missing
  std::filesystem::path targets, out;  // empty: none
  std::filesystem::path plot;          // empty: no picture
  std::filesystem::path plot_columns;  // of what columns learn from each other; empty: no picture
  ColumnChoice columns;                // empty if nothing was said
  std::vector<double> quantiles;
  std::int64_t digits = kStdDigits;  // significant ones of a standard deviation
  bool header = false;               // lines `# …` before the header of tables
  bool verbose = false;              // all facts about a result on standard error, not one line
  bool explain = false;              // print how a table is understood, and stop
  std::int64_t skip_rows = 0;        // of each table that is read
  CellRules cells;
  TransformOptions transform;
  std::filesystem::path truth;  // empty: not known
  bool as_is = false;           // no standardisation
  bool columns_apart = false;   // columns do not help each other
  std::int64_t neighbours = 0;  // 0: as many as the weights are good for
  bool no_turn = false;         // two inputs of a large table are not turned
  std::int64_t chunk = 4096;
  std::int64_t samples = 0;
  bool autoregressive = false;        // samples of a place are given those before it
  std::filesystem::path samples_out;  // empty: none
  std::string ends = "combined";      // or "weights": how to forecast behind the end of a series
  std::vector<std::string> periods;   // of its seasons; empty: found
  bool check = false;                 // score forecasts of the last season
  bool events = false;                // the rows are events, predicted without a training on them
  std::string now;                    // of events, as the table writes times: until when nothing more has happened
  std::optional<double> horizon;      // of a forecast, steps; of events, how long after the last one samples go on
  PlaceGrid grid;                     // of places to predict at
  bool add_rows = false;              // rows that equal steps lack
  JobOptions ranks;

  /// Flags that only tables with columns of any form take.
  bool has_cell_flags() const;
  /// The same without those that say how cells are read.
  bool has_table_flags() const;
  /// Steps of a forecast; 0: not given. Throws Error for a horizon that is no whole number up to `most`.
  std::int64_t steps_ahead(std::int64_t most) const;
};

inline constexpr std::int64_t kAllRows = std::numeric_limits<std::int64_t>::max();
/// The most in a picture: of one input, or of a map.
inline constexpr std::int64_t most_drawn_rows(std::size_t dim_x) { return dim_x == 1 ? 100'000 : 10'000'000; }

}  // namespace npzoo::tools
