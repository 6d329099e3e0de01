#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "npzoo/models/applications/tables/series_predictor.h"

namespace npzoo {

/// A table of observed points, and one of places to predict at; they may be the same. Each value column of each group
/// is a series, or as many columns together as the model has values: the points where all of these are known, and the
/// places of its group. The caller owns all arrays.
struct TableQuestion {
  std::span<const double> x;                       // (rows, Dx), of the observed table
  std::vector<std::span<const double>> y;          // of each value column (rows), NaN where it is missing
  std::span<const std::uint32_t> groups{};         // of each row, below `group_count`; empty: there is one
  std::span<const double> targets;                 // (places, Dx)
  std::span<const std::uint32_t> target_groups{};  // of each place
  std::vector<std::span<const double>> truth{};    // of each value column (places), NaN where unknown; empty: nowhere
  std::int64_t group_count = 1;
  std::vector<std::string> y_names;
  std::vector<ValueTransform> transforms{};               // of each value column; empty: none. See Series
  std::vector<std::span<const double>> added_variance{};  // of each value column (places); empty: none. See Series
  /// Predicts, where the places are the rows, only those at which a value is missing. Figures of others are NaN.
  bool missing_alone = false;
  double ratio = 1;  // see Series

  std::int64_t rows() const { return y.empty() ? 0 : std::ssize(y[0]); }
};

/// Views of columns that the caller keeps.
std::vector<std::span<const double>> as_columns(std::span<const std::vector<double>> columns);

/// The prediction of a value column at each place, in the units of the table, as in SeriesPrediction.
struct PredictedColumn {
  std::vector<double> mean, std;
  std::vector<double> quantiles, samples, crps, central_mass;
};

/// Points of series that lie far from the others (see outliers.h).
struct FarPoints {
  std::int64_t series = 0, points = 0;
  std::size_t column = 0;  // of the furthest: an input, or a value
  double furthest = 0, distance = 0;
};

/// Counts of series by how they compare with training.
struct SeriesTally {
  std::int64_t series = 0, without_context = 0, single = 0, small = 0, large = 0, constant = 0;
  std::int64_t smallest = 0, largest = 0;  // contexts
  std::int64_t targets = 0, outside = 0;   // outside the range of inputs in training
  FarPoints far_inputs{}, far_values{};
  std::int64_t turned = 0;          // series whose inputs were turned
  std::optional<InputTurn> turn{};  // the largest ratio of these
  std::int64_t noise_changes = 0;   // series whose deviations follow the size of their errors
  double noise_ratio = 1;           // the largest of these (see SeriesPrediction)
  Standardisation units;            // of the last one
};

struct TableAnswer {
  std::vector<PredictedColumn> columns;  // one for each value
  SeriesTally tally;
};

/// Predicts the series of a table, ordered by value column, then by group. A series of fewer than two points has the
/// units of all groups together. Memory is that of the answer and 8 bytes for each row and place beyond that of
/// `method`. Throws Error if the number of columns is not a multiple of the method's values.
TableAnswer predict_table(SeriesMethod& method, const TrainingRange& range, std::int64_t dim_x,
                          const TableQuestion& question);

/// Scores of predictions against known values.
struct TruthScores {
  std::int64_t rows = 0;
  double mae = 0, rmse = 0, crps = 0;
  double coverage_95 = 0;  // share inside the central interval of 95 %
};

/// Returns the scores at places with a known truth; all are NaN if there is none.
TruthScores score(const PredictedColumn& column, std::span<const double> truth);
/// Means over columns, weighted by their rows; the root of the mean of squares.
TruthScores pooled(std::span<const TruthScores> scores);

}  // namespace npzoo
