#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "npzoo/models/applications/tables/baselines.h"
#include "npzoo/models/applications/tables/column_help.h"
#include "npzoo/models/applications/tables/fill_report.h"
#include "npzoo/models/applications/tables/gp_series.h"
#include "npzoo/models/applications/tables/seasonal_holes.h"
#include "npzoo/models/applications/tables/table_ends.h"
#include "npzoo/models/applications/tables/table_series.h"
#include "npzoo/models/applications/tables/transform_choice.h"
#include "npzoo/models/applications/trained_model.h"
#include "npzoo/models/numerical_events.h"

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
  std::vector<std::string> group_labels{};            // of each group, for messages; empty: their numbers
  bool lonlat = false;                                // the first two inputs are longitude and latitude, in degrees
  std::int64_t covariates = 0;  // of the inputs, the last ones: values are also linear in them (see fill)
  /// (m, covariates): standard deviations of the covariates of the places, 0 where one is known; empty: all are. In
  /// `x` and `targets` a covariate of a fill may be NaN: it is predicted first, and its deviation stands here.
  std::span<const double> covariate_std{};
  std::vector<std::size_t> x_groups{};  // (Dx): inputs of one category have the same number; empty: each has its own

  /// Other columns of the observed rows (n), NaN where one is missing, and their names: not predicted, and used to
  /// predict values of the same rows (see FillOptions::columns_help).
  std::vector<std::span<const double>> helpers{};
  std::vector<std::string> helper_names{};

  /// Of each value column (m): variances to add to predictions, such as those of linear parts; empty: none.
  std::vector<std::span<const double>> added_variance{};

  std::int64_t places() const { return std::ssize(targets.value_or(x)) / dim_x; }
};

struct FillOptions {
  std::vector<double> quantiles{};      // probabilities, each above 0 and below 1
  std::int64_t samples = 0;             // functions to draw; of a marginal model each place by itself
  bool autoregressive = false;          // draw each place given those before it, with a marginal model; slow
  std::optional<std::uint64_t> seed{};  // of random numbers; none: the seed of the training
  bool standardise = true;              // map inputs and values to the units of the training
  std::int64_t neighbours = 0;          // observed points used for each target; 0: chosen from the training range
  bool turn = true;                     // turn and stretch two inputs of a series with many points (see LocalOptions)
  std::int64_t chunk = 4096;            // targets predicted at a time; bounds the memory
  GpOptions gp{};                       // of weights "gp"
  /// Fits a Gaussian process as well, and has it answer where it clearly predicts hidden observed values better than
  /// the weights (see compare_on_hidden_thirds).
  bool compare_gp = false;
  /// Lets the columns of a row predict each other's missing values, where that is better on hidden cells: with weights
  /// of one value, without `targets`. Groups that share their places help each other, too (see
  /// help_columns).
  bool columns_help = true;
  bool baselines = false;  // score others on the same rows, where there is a truth; see also score_end_methods
  /// Series of one input on a calendar, if the weights are for tables: forecasts behind their ends by a combination
  /// (see forecast_table_ends) and seasons in their holes (see fill_seasonal_holes).
  bool combine_ends = true;
  bool missing_alone = false;          // only places with a missing value (see TableQuestion), without `targets`
  std::vector<std::string> periods{};  // of seasons (see find_regular_series); empty: found
  bool check_ends = false;             // score those forecasts on the last season, hidden
  TransformOptions transform{};        // limits of the values, and the scale on which they are predicted
  std::stop_token stop{};              // after a request the call throws Interrupted
  /// Called with the values predicted so far and the number of all, by one thread at a time.
  std::function<void(std::int64_t done, std::int64_t all)> progress{};
  /// Ranks that share the work of weights: all of them call `fill` with the same data, and get the result of one
  /// process, to the bit. A Gaussian process is fitted on every rank.
  Job* job = nullptr;
};

/// Returns options for means and deviations alone, predicted in the same way but without limits and transforms.
FillOptions moments_alone(const FillOptions& options);

/// A Gaussian process that was fitted to a series.
struct SeriesProcess {
  std::size_t value = 0;   // its column
  std::int64_t group = 0;  // its number
  GpFit fit;
  std::vector<NamedValue> values{};  // of the fit's hyper-parameters
  std::vector<NamedValue> slopes{};  // of its mean, per unit of each covariate
};

struct FillResult {
  std::vector<PredictedColumn> columns{};    // of each value column, in the units of the data
  std::vector<ValueTransform> transforms{};  // of each value column: a named one, or the one chosen
  std::vector<TruthScores> scores{};         // of each value column; empty without a truth
  /// Reasons to doubt the figures. The kind "no prediction" names rows whose figures are not finite.
  std::vector<Warning> warnings{};
  std::vector<bool> answered{};        // (m): all figures of the row are finite
  std::int64_t unanswered = 0;         // rows without that
  std::int64_t first_unanswered = -1;  // the first of these rows
  double first_odd = 0;                // its first figure that is not finite
  std::vector<TableEnd> ends{};        // forecasts behind the ends of series
  std::vector<SeasonalHoles> holes{};  // of series with a season
  std::vector<EndScore> end_scores{};  // with `check_ends`: the combination, then each method
  NumericalEvents events{};            // of this call
  FillReport report;                   // units, contexts and other facts about the result
  WeightsUsed weights;
  std::vector<SeriesProcess> processes{};   // of weights "gp"
  std::vector<BaselineScores> baselines{};  // if requested
  std::vector<double> quantiles{};          // copied from the options
  std::int64_t samples = 0;                 // copied from the options
  Density density = Density::marginal;      // how samples were drawn: each place by itself (marginal, apart from paths
                                            // behind the ends of series) or together
};

/// The name that selects a fitted Gaussian process instead of weights.
inline constexpr std::string_view kGaussianProcess = "gp";

/// Predicts every value column at every place. Standardises each series by its own observed points; a series with
/// many points is predicted from the nearest ones (see LocalContexts). The bits of the result do not depend on the
/// number of threads. Throws Error if the arrays do not fit together or to the model, if a number is not finite, and
/// as `standardise` does; throws Interrupted after a request to stop.
///
/// Longitude and latitude are mapped to a plane (see SphereMap). Covariates are inputs of a model that takes as many
/// inputs as they and the others are. Else a linear mean in them is fitted to each series by generalised least squares,
/// with the covariance of a Gaussian process of the other inputs, and the model predicts what it leaves. Slopes are
/// normal with mean 0. Their deviation is that of the largest restricted likelihood, one for each covariate. What their
/// uncertainty adds at a place is part of its figures.
FillResult fill(const TrainedModel& trained, const FillData& data, const FillOptions& options = {});
/// Predicts by Gaussian processes, fitted to each series: any number of inputs, longitudes and latitudes as points of
/// the sphere, a mean that is linear in the covariates, and these as inputs as well. Progress and errors are as above.
FillResult fill_with_gp(const FillData& data, const FillOptions& options = {});
/// Predicts with weights given by their name or file, or by "gp"; empty: see usual_weights.
FillResult fill(const std::string& weights, const FillData& data, const FillOptions& options = {});

/// Returns the name of the weights for these data, or "gp". Weights answer one to three inputs. One covariate of
/// numbers beside two inputs is a third one, and values of one input are also linear in their covariates (see fill).
/// "gp" answers all other covariates and more inputs. It also answers three inputs if a series has more observed rows
/// than the weights were trained on: local contexts choose rows by plain distance, which means little between inputs of
/// different kinds.
std::string usual_weights(const FillData& data);
/// The same for so many inputs, covariates included, and observed rows of the largest series. A covariate of words
/// counts as one for each word.
std::string usual_weights(std::int64_t inputs, std::int64_t covariates, std::int64_t observed);
/// Whether the usual weights of so many inputs are compared with a Gaussian process (see FillOptions): those of three,
/// where a smooth function without noise is best left to the fit.
bool compares_with_gp(std::int64_t inputs);

/// Throws Error unless the model takes as many inputs, and one value or all of these together.
void check_fits(const TrainedModel& trained, std::span<const std::string> inputs, std::span<const std::string> values);

/// Group labels as numbers, in the order in which they appear first: those of the rows, then those of the targets.
struct GroupNumbers {
  std::vector<std::string> names;
  std::vector<std::uint32_t> of_rows, of_targets;
};
GroupNumbers number_groups(std::span<const std::string> rows, std::span<const std::string> targets = {});

}  // namespace npzoo
