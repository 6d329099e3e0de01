#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "npzoo/models/applications/tables/fill_report.h"
#include "npzoo/models/applications/tables/table_series.h"
#include "npzoo/models/applications/tables/transform_choice.h"
#include "npzoo/models/applications/trained_model.h"

namespace npzoo {

/// Observed points and the places to predict at. Each value column of each group is a series of its own, or all columns
/// of a group together if the model has several values. The caller owns the arrays.
struct FillData {
  std::int64_t dim_x = 1;
  std::span<const double> x;                          // (n, Dx), row-major and finite
  std::vector<std::span<const double>> values{};      // of each value column (n), NaN where a value is missing
  std::span<const std::uint32_t> groups{};            // (n), from 0 on; empty: all rows are of one group
  std::optional<std::span<const double>> targets{};   // (m, Dx); none: the places are the observed rows
  std::span<const std::uint32_t> target_groups{};     // (m)
  std::vector<std::span<const double>> truth{};       // of each value column (m), NaN where unknown; empty: nowhere
  std::vector<std::string> x_names{}, value_names{};  // for messages; empty: x1 …, y1 …
  std::vector<ColumnForm> x_forms{};                  // how messages show inputs; empty: as numbers
  std::string group_name{};                           // of the column of groups, for messages

  std::int64_t places() const { return std::ssize(targets.value_or(x)) / dim_x; }
};

struct FillOptions {
  std::vector<double> quantiles{};      // probabilities, each above 0 and below 1
  std::int64_t samples = 0;             // functions to draw; of a marginal model each place by itself
  std::optional<std::uint64_t> seed{};  // of random numbers; none: the seed of the training
  bool standardise = true;              // map inputs and values to the units of the training
  std::int64_t neighbours = 0;          // observed points used for each target; 0: chosen from the training range
  std::int64_t chunk = 4096;            // targets predicted at a time; bounds the memory
  TransformOptions transform{};         // limits of the values, and the scale on which they are predicted
  std::stop_token stop{};               // after a request the call throws Interrupted
  /// Called with the values predicted so far and the number of all, by one thread at a time.
  std::function<void(std::int64_t done, std::int64_t all)> progress{};
};

struct FillResult {
  std::vector<PredictedColumn> columns;      // of each value column, in the units of the data
  std::vector<ValueTransform> transforms{};  // of each value column: a named one, or the one chosen
  std::vector<TruthScores> scores{};         // of each value column; empty without a truth
  /// Reasons to doubt the figures. The kind "no prediction" names rows whose figures are not finite.
  std::vector<Warning> warnings{};
  std::vector<bool> answered{};        // (m): all figures of the row are finite
  std::int64_t unanswered = 0;         // rows without that
  std::int64_t first_unanswered = -1;  // the first of these rows
  double first_odd = 0;                // its first figure that is not finite
  FillReport report;                   // units, contexts and what else to say of the result
  WeightsUsed weights;
  std::vector<double> quantiles{};      // as asked
  std::int64_t samples = 0;             // as asked
  Density density = Density::marginal;  // how samples were drawn: each place by itself (marginal) or together
};

/// Predicts every value column at every place. Standardises each series by its own observed points; a series with
/// many points is predicted from the nearest ones (see LocalContexts). The bits of the result do not depend on the
/// number of threads. Throws Error if the arrays do not fit together or to the model, if a number is not finite, and
/// as `standardise` does; throws Interrupted after a request to stop.
FillResult fill(const TrainedModel& trained, const FillData& data, const FillOptions& options = {});
/// Predicts with weights given by their name or file; empty: the weights for tables of as many inputs.
FillResult fill(const std::string& weights, const FillData& data, const FillOptions& options = {});

/// Throws Error unless the model takes as many inputs, and one value or all of these together.
void check_fits(const TrainedModel& trained, std::span<const std::string> inputs, std::span<const std::string> values);

/// Group labels as numbers, in the order in which they appear first: those of the rows, then those of the targets.
struct GroupNumbers {
  std::vector<std::string> names;
  std::vector<std::uint32_t> of_rows, of_targets;
};
GroupNumbers number_groups(std::span<const std::string> rows, std::span<const std::string> targets = {});

}  // namespace npzoo
