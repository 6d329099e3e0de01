#include "npzoo/models/applications/tables/fill.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <memory>
#include <unordered_map>

#include "npzoo/datasets/tables/column_rules.h"
#include "npzoo/models/applications/application_call.h"
#include "npzoo/models/applications/tables/changing_noise.h"
#include "npzoo/models/applications/tables/complete_data.h"
#include "npzoo/models/applications/tables/covariate_errors.h"
#include "npzoo/models/applications/tables/far_values.h"
#include "npzoo/models/applications/tables/filled_covariates.h"
#include "npzoo/models/applications/tables/help_columns.h"
#include "npzoo/models/applications/tables/hidden_thirds.h"
#include "npzoo/models/applications/tables/limit_check.h"
#include "npzoo/models/applications/tables/meter_falls.h"
#include "npzoo/models/applications/tables/method.h"
#include "npzoo/models/applications/tables/plain_table.h"
#include "npzoo/models/training/named_weights.h"

namespace npzoo {

namespace {

/// Finds the rows whose figures are all finite.
void find_answered(FillResult& result) {
  const std::size_t rows = result.columns.front().mean.size();
  result.answered.assign(rows, true);
  for (std::size_t row = 0; row < rows; ++row) {
    std::optional<double> odd;
    for (const PredictedColumn& column : result.columns)
      for (const auto* figures : {&column.mean, &column.std, &column.quantiles, &column.samples}) {
        const std::size_t width = figures->size() / rows;
        for (std::size_t i = row * width; i < (row + 1) * width && !odd; ++i)
          if (!std::isfinite((*figures)[i])) odd = (*figures)[i];
      }
    if (!odd) continue;
    result.answered[row] = false;
    if (result.unanswered++ > 0) continue;
    result.first_unanswered = static_cast<std::int64_t>(row);
    result.first_odd = *odd;
  }
}

Warning no_prediction(const FillResult& result) {
  const std::string rows =
      result.unanswered == 1 ? fmt::format("row {} has", result.first_unanswered)
                             : fmt::format("row {} and {} others have", result.first_unanswered, result.unanswered - 1);
  return {"no prediction", rows + " no prediction: inputs or values are too large for the model"};
}

/// Takes columns and tally of an answer, and completes the names in a result and its report.
void take_answer(const CompleteData& c, const FillOptions& options, TableAnswer answer, FillResult& result) {
  result.columns = std::move(answer.columns);
  result.quantiles = options.quantiles;
  result.samples = options.samples;
  FillReport& report = result.report;
  report.weights = result.weights;
  report.columns = {c.data.x_names, c.data.value_names, c.data.group_name};
  report.tally = std::move(answer.tally);
  report.x_forms = c.data.x_forms;
  if (!c.question.groups.empty() || !c.question.target_groups.empty()) report.groups = c.question.group_count;
}

/// Adds scores, warnings and the rows without a prediction.
void finish_result(const CompleteData& c, FillResult& result) {
  for (std::size_t v = 0; v < c.question.truth.size(); ++v)
    result.scores.push_back(score(result.columns[v], c.question.truth[v]));
  find_answered(result);
  result.warnings = result.report.warnings();
  if (result.unanswered > 0) result.warnings.push_back(no_prediction(result));
}

}  // namespace

void check_fits(const TrainedModel& trained, std::span<const std::string> inputs, std::span<const std::string> values) {
  const TrainingRun& run = trained.checkpoint.run;
  const Model& model = *trained.model;
  check(model.dim_x() == std::ssize(inputs), "[predict] {} inputs found, {}, {} trained under {} takes {}",
        inputs.size(), fmt::join(inputs, " and "), run.spec.name, run.protocol.name, model.dim_x());
  check(model.dim_y() == 1 || model.dim_y() == std::ssize(values),
        "[predict] {} columns of values found, {}, {} trained under {} takes {} together", values.size(),
        fmt::join(values, " and "), run.spec.name, run.protocol.name, model.dim_y());
}

namespace {

/// The most observed rows of a series.
std::int64_t most_observed(const FillData& data) {
  std::int64_t most = 0;
  for (const std::span<const double> y : data.values) {
    std::unordered_map<std::uint32_t, std::int64_t> rows;
    for (std::size_t i = 0; i < y.size(); ++i)
      if (!std::isnan(y[i])) most = std::max(most, ++rows[data.groups.empty() ? 0 : data.groups[i]]);
  }
  return most;
}

/// Predicts each value column by itself, from inputs that the method takes.
FillResult fill_plain(const Method& method, const CompleteData& c, const FillOptions& options) {
  const std::unique_ptr<MethodRun> run = method.run(c, options);
  TableQuestion question = c.question;
  question.missing_alone = options.missing_alone && !c.data.targets;
  question.ratio = ratio_of_one_unit(c.data.x_names);
  const std::unique_ptr<SeriesMethod> trials = run->quiet_series();
  TransformedValues values = transform_values(options.transform, *trials, question);
  const auto variances = covariate_variances(*trials, run->range(), c.data, question);
  if (!variances.empty()) question.added_variance = as_columns(variances);
  ChangingNoise followed(run->series(), *trials);
  TableAnswer answer = predict_table(followed, run->range(), c.data.dim_x, question);
  if (FarPoints& far = answer.tally.far_values; far.points > 0)
    far.furthest = values.transforms[far.column].inverse(far.furthest);
  FillResult result{
      .transforms = std::move(values.transforms), .report = {.range = run->range()}, .weights = method.weights()};
  take_answer(c, options, std::move(answer), result);
  add_errors_to_samples(variances, question.targets, options.seed.value_or(method.usual_seed()), result);
  std::vector<Warning> warnings = run->finish(question, result);
  finish_result(c, result);
  std::ranges::move(warnings, std::back_inserter(result.warnings));
  return result;
}

/// Predicts each value column by itself.
FillResult fill_alone(const Method& method, const CompleteData& c, const FillOptions& options) {
  const Method::NotTaken apart = method.not_taken(c.data);
  if (!apart.places && apart.covariates == 0) return fill_plain(method, c, options);
  FillData seen = c.data;
  seen.lonlat = apart.places;
  seen.covariates = apart.covariates;
  const PlainTable plain(seen);
  FillResult result = fill_plain(method, CompleteData(plain.data()), options);
  plain.finish(result, options.seed.value_or(method.usual_seed()));
  return result;
}

/// Adds the scores of other methods on the same rows.
void add_baselines(const CompleteData& c, const FillOptions& options, FillResult& result) {
  if (!options.baselines || result.scores.empty()) return;
  if (!result.report.fitted) {
    FillOptions plain{.gp = options.gp, .stop = options.stop};
    result.baselines.push_back({std::string(kGaussianProcess), fill_with_gp(c.data, plain).scores});
  }
  result.baselines.push_back(score_interpolation(c.question, c.data.dim_x));
  std::ranges::move(score_end_methods(c.question, result.ends), std::back_inserter(result.baselines));
}

FillResult fill_by(const Method& method, const FillData& data, const FillOptions& options) {
  return call_application(options.stop, method.model(), [&] {
    const CompleteData given(data);
    check_options(options);
    const FarValues far(given.data, options);
    const MeterFalls meters(far.data(), options);
    const CompleteData c(meters.data());
    method.check(c, options);
    const NumericalEventScope events;
    const LimitCheck limits(c.data, options);
    FillResult result = fill_alone(method, c, limits.options());
    const auto alone = [&](const FillData& d, const FillOptions& o) { return fill_alone(method, CompleteData(d), o); };
    if (method.columns_help()) help_columns(c, options, alone, result);
    limits.finish(method.not_taken(c.data).covariates == 0, result);
    far.finish(result);
    result.events = events.count();
    add_baselines(c, options, result);
    meters.finish(result);
    return result;
  });
}

/// By the weights or a Gaussian process, which both predict hidden rows first.
FillResult fill_with_better(const TrainedModel& trained, const FillData& data, const FillOptions& options) {
  // The weights are calibrated better, and a fit is chosen by the rows that score it: it must win by more than noise.
  constexpr double kClearly = 0.95;
  const WeightsMethod weights(trained);
  const GpMethod gp;
  FillOptions plain{.standardise = options.standardise,
                    .neighbours = options.neighbours,
                    .turn = options.turn,
                    .gp = options.gp,
                    .combine_ends = false,
                    .transform = options.transform,
                    .stop = options.stop};
  if (options.progress)  // shows that something happens
    plain.progress = [&, all = data.places() * std::ssize(data.values)](std::int64_t, std::int64_t) {
      options.progress(0, all);
    };
  const std::optional<double> ratio = compare_on_hidden_thirds(
      data, [&](const FillData& d) { return fill_by(gp, d, plain); },
      [&](const FillData& d) { return fill_by(weights, d, plain); });
  const bool by_gp = ratio && *ratio < kClearly;
  FillResult result = by_gp ? fill_by(gp, data, options) : fill_by(weights, data, options);
  if (ratio)
    result.report.notes.push_back(fmt::format(
        "compared on hidden rows: the CRPS of a fitted Gaussian process is {:.3g} times that of the weights", *ratio));
  return result;
}

/// Predicts covariates that are missing, and then what `answer` predicts with them.
FillResult with_filled_covariates(const FillData& data, const FillOptions& options,
                                  const std::function<FillResult(const FillData&)>& answer) {
  const FilledCovariates filled(data, options,
                                [](const FillData& d, const FillOptions& o) { return fill(std::string(), d, o); });
  FillResult result = answer(filled.data());
  result.warnings.insert(result.warnings.begin(), filled.warnings().begin(), filled.warnings().end());
  return result;
}

}  // namespace

FillResult fill(const TrainedModel& trained, const FillData& data, const FillOptions& options) {
  return with_filled_covariates(data, options, [&](const FillData& complete) {
    if (!options.compare_gp) return fill_by(WeightsMethod(trained), complete, options);
    return call_application(options.stop, trained.model.get(), [&] {
      const CompleteData c(complete);
      check_options(options);
      return fill_with_better(trained, c.data, options);
    });
  });
}

FillResult fill_with_gp(const FillData& data, const FillOptions& options) {
  return with_filled_covariates(data, options,
                                [&](const FillData& complete) { return fill_by(GpMethod(), complete, options); });
}

FillResult fill(const std::string& weights, const FillData& data, const FillOptions& options) {
  const std::string name = weights.empty() ? usual_weights(data) : weights;
  if (name == kGaussianProcess) return fill_with_gp(data, options);
  const TrainedModel trained = load_model(name);
  FillOptions chosen = options;
  chosen.compare_gp = options.compare_gp || (weights.empty() && compares_with_gp(trained.model->dim_x()));
  return fill(trained, data, chosen);
}

std::string usual_weights(const FillData& data) {
  return usual_weights(data.dim_x, data.covariates, most_observed(data));
}

std::string usual_weights(std::int64_t inputs, std::int64_t covariates, std::int64_t observed) {
  constexpr std::int64_t kMost = 3;               // the largest number of inputs of weights
  constexpr std::int64_t kLargestOfThree = 1024;  // observed rows of a training of the weights for three inputs
  if (inputs - covariates == 1) return default_weights(1);
  const bool fit = inputs <= kMost && (covariates == 0 || (covariates == 1 && inputs == kMost));
  return fit && (inputs < kMost || observed <= kLargestOfThree) ? default_weights(inputs)
                                                                : std::string(kGaussianProcess);
}

bool compares_with_gp(std::int64_t inputs) { return inputs == 3; }

FillOptions moments_alone(const FillOptions& options) {
  return {.standardise = options.standardise,
          .neighbours = options.neighbours,
          .turn = options.turn,
          .chunk = options.chunk,
          .combine_ends = options.combine_ends,
          .periods = options.periods,
          .stop = options.stop,
          .job = options.job};
}

GroupNumbers number_groups(std::span<const std::string> rows, std::span<const std::string> targets) {
  GroupNumbers numbers;
  std::unordered_map<std::string_view, std::uint32_t> known;
  for (const auto& [labels, to] : {std::pair{rows, &numbers.of_rows}, {targets, &numbers.of_targets}})
    for (const std::string& label : labels) {
      const auto [at, is_new] = known.try_emplace(label, static_cast<std::uint32_t>(known.size()));
      if (is_new) numbers.names.push_back(label);
      to->push_back(at->second);
    }
  return numbers;
}

}  // namespace npzoo
