#include "npzoo/models/applications/tables/fill.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <unordered_map>

#include "npzoo/models/applications/application_call.h"
#include "npzoo/models/applications/tables/calendar_answers.h"
#include "npzoo/models/applications/tables/complete_data.h"
#include "npzoo/models/applications/tables/covariate_check.h"
#include "npzoo/models/applications/tables/help_columns.h"
#include "npzoo/models/applications/tables/hidden_thirds.h"
#include "npzoo/models/applications/tables/limit_check.h"
#include "npzoo/models/applications/tables/plain_table.h"
#include "npzoo/models/registry.h"
#include "npzoo/models/training/named_weights.h"

namespace npzoo {

namespace {

constexpr std::int64_t kHeldPoints = 1 << 18;  // small, so that a large table reports progress early

/// Transforms, and the observed values after them.
struct TransformedValues {
  std::vector<ValueTransform> transforms;
  std::vector<std::vector<double>> columns{};  // of those with a transform; empty for the others
};

TransformedValues transform_values(const TransformOptions& options, const SeriesPredictor& predictor,
                                   const LocalOptions& local, TableQuestion& question) {
  TransformedValues all;
  for (std::size_t v = 0; v < question.y.size(); ++v)
    all.transforms.push_back(options.automatic ? choose_transform(options, question, v, predictor, local)
                                               : named_transform(options, question.y[v], question.y_names[v]));
  if (std::ranges::none_of(all.transforms, &ValueTransform::active)) return all;
  question.transforms = all.transforms;
  for (std::size_t v = 0; v < question.y.size(); ++v) {
    std::vector<double>& column = all.columns.emplace_back(question.y[v].begin(), question.y[v].end());
    for (double& y : column) y = std::isnan(y) ? y : all.transforms[v].forward(y);
  }
  question.y = as_columns(all.columns);
  return all;
}

LocalOptions local_options(const FillOptions& options, const TrainingRange& range) {
  const LocalOptions usual;
  const bool turn = options.turn && options.standardise;
  if (options.neighbours > 0)
    return {.largest_context = options.neighbours, .neighbours = options.neighbours, .turn = turn};
  return {
      .largest_context = range.max_context, .neighbours = std::min(usual.neighbours, range.max_context), .turn = turn};
}

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

GpInputs gp_inputs(const FillData& d) {
  GpInputs inputs{.dim_x = d.dim_x, .lonlat = d.lonlat, .x_groups = d.x_groups, .covariates = d.covariates};
  inputs.sort_covariates(d.x_names);
  return inputs;
}

std::vector<SeriesProcess> processes_of(const std::vector<GpFit>& fits, const GpInputs& inputs, const CompleteData& c) {
  std::vector<SeriesProcess> all;
  for (std::size_t i = 0; i < fits.size(); ++i) {
    const auto groups = static_cast<std::size_t>(c.question.group_count);
    SeriesProcess& process =
        all.emplace_back(SeriesProcess{i / groups, static_cast<std::int64_t>(i % groups), fits[i]});
    process.values = named_values(fits[i], inputs, c.data.x_names);
    for (const NamedSlope& slope : named_slopes(fits[i], inputs, c.data.x_names))
      process.slopes.push_back({slope.name, slope.value});
  }
  return all;
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

/// Whether the covariates are inputs of the model like the others.
bool takes_covariates(const TrainedModel& trained, const FillData& data) {
  return trained.model->dim_x() == data.dim_x;
}

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

/// Predicts with weights a table that has their inputs alone.
FillResult fill_plain(const TrainedModel& trained, const CompleteData& c, const FillOptions& options) {
  check_fits(trained, c.data.x_names, c.data.value_names);
  const Checkpoint& checkpoint = trained.checkpoint;
  const TrainingRange range = checkpoint.run.protocol.data->training_range();
  const Density density = model_info(checkpoint.run.spec.name).drawing();
  SeriesOptions series{.density = density,
                       .x_names = c.data.x_names,
                       .quantiles = options.quantiles,
                       .samples = options.samples,
                       .seed = options.seed.value_or(checkpoint.run.seed),
                       .standardise = options.standardise,
                       .chunk = options.chunk,
                       .held_points = kHeldPoints,
                       .stop = options.stop,
                       .job = options.job};
  if (options.progress)
    series.progress = [&, done = std::int64_t{0}, together = trained.model->dim_y()](std::int64_t targets) mutable {
      options.progress(done += targets * together, c.values());
    };
  const LocalOptions local = local_options(options, range);
  SeriesOptions quiet = series;  // a choice among transforms makes no progress
  quiet.progress = nullptr;
  quiet.quantiles.clear();
  quiet.samples = 0;
  TableQuestion question = c.question;
  const TransformedValues values =
      transform_values(options.transform, SeriesPredictor(*trained.model, range, quiet), local, question);
  TableAnswer answer =
      predict_table(SeriesPredictor(*trained.model, range, series), local, range, c.data.dim_x, question);
  if (FarPoints& far = answer.tally.far_values; far.points > 0)
    far.furthest = values.transforms[far.column].inverse(far.furthest);
  series.progress = {};
  CalendarAnswers calendar = answer_by_calendar(trained, c, question, options, series, local, answer.columns);
  const std::int64_t combined = std::ssize(calendar.ends);
  FillResult result{.transforms = values.transforms,
                    .ends = std::move(calendar.ends),
                    .holes = std::move(calendar.holes),
                    .end_scores = std::move(calendar.scores),
                    .report = {.range = range,
                               .local = local,
                               .combined_ends = combined,
                               .standardised = options.standardise,
                               .transforms = values.transforms},
                    .weights = weights_used(checkpoint),
                    .density = density};
  take_answer(c, options, std::move(answer), result);
  compare_with_training(trained, question, result.report);
  describe_seasons(result);
  finish_result(c, result);
  std::ranges::move(calendar.warnings, std::back_inserter(result.warnings));
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

/// Predicts each value column by itself.
FillResult fill_alone(const TrainedModel& trained, const CompleteData& c, const FillOptions& options) {
  FillData seen = c.data;
  if (takes_covariates(trained, seen)) seen.covariates = 0;
  if (!seen.lonlat && seen.covariates == 0) return fill_plain(trained, CompleteData(seen), options);
  check_fits(trained, std::span(c.data.x_names).first(static_cast<std::size_t>(check_covariates(seen))),
             c.data.value_names);
  check(seen.covariates == 0 || !options.transform.any(),
        "[predict] --covariates found with --bounds, --counts or --transform, expected one of them");
  const PlainTable plain(seen);
  FillResult result = fill_plain(trained, CompleteData(plain.data()), options);
  plain.finish(result, options.seed.value_or(trained.checkpoint.run.seed));
  return result;
}

FillResult fill_with_better(const TrainedModel& trained, const FillData& data, const FillOptions& options) {
  // The weights are calibrated better, and a fit is chosen by the rows that score it: it must win by more than noise.
  constexpr double kClearly = 0.95;
  FillOptions alone = options;
  alone.compare_gp = false;
  FillOptions plain{.standardise = options.standardise,
                    .neighbours = options.neighbours,
                    .turn = options.turn,
                    .gp = options.gp,
                    .combine_ends = false,
                    .stop = options.stop};
  if (options.progress)  // shows that something happens
    plain.progress = [&, all = data.places() * std::ssize(data.values)](std::int64_t, std::int64_t) {
      options.progress(0, all);
    };
  const std::optional<double> ratio = compare_on_hidden_thirds(
      data, [&](const FillData& d) { return fill_with_gp(d, plain); },
      [&](const FillData& d) { return fill(trained, d, plain); });
  const bool by_gp = ratio && *ratio < kClearly;
  FillResult result = by_gp ? fill_with_gp(data, alone) : fill(trained, data, alone);
  if (ratio)
    result.report.notes.push_back(fmt::format(
        "compared on hidden rows: the CRPS of a fitted Gaussian process is {:.3g} times that of the weights", *ratio));
  return result;
}

}  // namespace

FillResult fill(const TrainedModel& trained, const FillData& data, const FillOptions& options) {
  return call_application(options.stop, trained.model.get(), [&] {
    const CompleteData c(data);
    check_options(options);
    if (options.compare_gp && !options.transform.any()) return fill_with_better(trained, c.data, options);
    const NumericalEventScope events;
    const LimitCheck check_of_limits(c.data, options);
    FillResult result = fill_alone(trained, c, check_of_limits.options());
    const auto alone = [&](const FillData& d, const FillOptions& o) { return fill_alone(trained, CompleteData(d), o); };
    if (trained.model->dim_y() == 1) help_columns(c, options, alone, result);
    check_of_limits.finish(c.data.covariates == 0 || takes_covariates(trained, c.data), result);
    result.events = events.count();
    add_baselines(c, options, result);
    return result;
  });
}

FillResult fill_with_gp(const FillData& data, const FillOptions& options) {
  return call_application(options.stop, nullptr, [&] {
    const CompleteData c(data);
    check_options(options);
    check_gp_inputs(c);
    const LimitCheck check_of_limits(c.data, options);
    check(!options.transform.any(),
          "[predict] --bounds, --counts or --transform found with a Gaussian process, expected --model weights");
    check(options.periods.empty() && !options.check_ends,
          "[predict] --period or --check found with a Gaussian process, expected --model weights");
    GpSeriesOptions series{.inputs = gp_inputs(c.data),
                           .gp = options.gp,
                           .quantiles = check_of_limits.options().quantiles,
                           .samples = options.samples,
                           .seed = options.seed.value_or(0)};
    if (options.neighbours > 0) series.gp.largest_exact = series.gp.neighbours = options.neighbours;
    if (options.progress)
      series.progress = [&, done = std::int64_t{0}](std::int64_t targets) mutable {
        options.progress(done += targets, c.values());
      };
    GpSeriesPredictor predictor(series);
    const TrainingRange range{.inputs = {0, 1}, .max_context = std::numeric_limits<std::int64_t>::max()};
    const auto units_of = [&](const Series& s) {
      return standardise_by_context(s.x, s.y, c.data.x_names, s.value_names, range);
    };
    const auto predict = [&](const SeriesPredictor::Next& next, const SeriesPredictor::Take& take) {
      predictor.predict(next, take);
    };
    TableAnswer answer =
        predict_table({1, units_of, predict}, {.inputs = {-1e300, 1e300}, .max_context = range.max_context},
                      c.data.dim_x, c.question);
    FillResult result{
        .transforms = std::vector<ValueTransform>(c.data.values.size()),
        .report = {.range = range,
                   .local = {.largest_context = series.gp.largest_exact, .neighbours = series.gp.neighbours},
                   .fitted = true},
        .weights = {.model = std::string(kGaussianProcess)},
        .density = predictor.drew_jointly() ? Density::joint : Density::marginal};
    take_answer(c, check_of_limits.options(), std::move(answer), result);
    result.processes = processes_of(predictor.fits(), series.inputs, c);
    describe_inputs(c.question, 1, result.report);
    if (c.data.lonlat) result.report.around_the_world.clear();
    if (result.processes.size() == 1) {
      std::vector<std::string> notes = describe_fit(result.processes[0].fit, series.inputs, c.data.x_names);
      result.report.notes.insert(result.report.notes.end(), notes.begin(), notes.end());
    }
    if (std::string note = predictor.note_on_ends(); !note.empty()) result.report.notes.push_back(std::move(note));
    CovariateCheck covariates = check_covariate_values(c.data);
    std::ranges::move(covariates.notes, std::back_inserter(result.report.notes));
    finish_result(c, result);
    check_of_limits.finish(false, result);
    std::ranges::move(covariates.warnings, std::back_inserter(result.warnings));
    add_baselines(c, options, result);
    return result;
  });
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
