#include "npzoo/models/applications/tables/fill.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_map>

#include "npzoo/datasets/tables/sphere.h"
#include "npzoo/engine/cancellation.h"
#include "npzoo/models/applications/tables/plain_table.h"
#include "npzoo/models/registry.h"
#include "npzoo/models/training/named_weights.h"

namespace npzoo {

namespace {

constexpr std::int64_t kHeldPoints = 1 << 18;  // few, so that a large table reports progress soon

std::vector<std::string> numbered(const char* letter, std::size_t count) {
  std::vector<std::string> names;
  for (std::size_t i = 1; i <= count; ++i) names.push_back(fmt::format("{}{}", letter, i));
  return names;
}

void check_inputs(std::span<const double> x, std::int64_t dim_x, const char* what) {
  check(std::ssize(x) % dim_x == 0, "[predict] {} numbers of {} found, expected {} for each row", x.size(), what,
        dim_x);
  const auto odd = std::ranges::find_if(x, [](double value) { return !std::isfinite(value); });
  if (odd != x.end())
    fail("[predict] {} of row {} is {}, expected a finite number", what, (odd - x.begin()) / dim_x, *odd);
}

void check_groups(std::span<const std::uint32_t> groups, std::int64_t rows, std::int64_t all, const char* what) {
  check(groups.empty() || std::ssize(groups) == rows, "[predict] {} groups of {} {} found, expected one for each",
        groups.size(), rows, what);
  const auto large = std::ranges::find_if(groups, [all](std::uint32_t g) { return g >= all; });
  if (large != groups.end())
    fail("[predict] the group {} found, expected numbers from 0 on, below the {} rows of data", *large, all);
}

void check_columns(const std::vector<std::span<const double>>& columns, std::span<const std::string> names,
                   std::int64_t rows, const char* what) {
  for (std::size_t v = 0; v < columns.size(); ++v) {
    check(std::ssize(columns[v]) == rows, "[predict] {} {} of {} found, expected {}, one for each row",
          columns[v].size(), what, names[v], rows);
    const auto odd = std::ranges::find_if(columns[v], [](double y) { return std::isinf(y); });
    if (odd != columns[v].end())
      fail("[predict] row {} of {} of {} is {}, expected a finite number, or NaN if it is missing",
           odd - columns[v].begin(), what, names[v], *odd);
  }
}

/// The data with names, and the arrays that FillData leaves out.
struct CompleteData {
  FillData data;
  std::vector<std::vector<double>> unseen{};  // the truth without the values that were observed
  TableQuestion question{};

  std::int64_t values() const { return data.places() * std::ssize(data.values); }
};

void check_data(const FillData& d) {
  check(d.dim_x >= 1, "[predict] {} inputs found, expected one or more", d.dim_x);
  check_inputs(d.x, d.dim_x, "x");
  if (d.targets) check_inputs(*d.targets, d.dim_x, "targets");
  const std::int64_t rows = std::ssize(d.x) / d.dim_x;
  check(!d.values.empty(), "[predict] no column of values found, expected one or more");
  check(std::ssize(d.x_names) == d.dim_x && d.value_names.size() == d.values.size(),
        "[predict] {} names of inputs and {} of values found, expected {} and {}", d.x_names.size(),
        d.value_names.size(), d.dim_x, d.values.size());
  check(d.x_forms.empty() || std::ssize(d.x_forms) == d.dim_x, "[predict] {} forms of inputs found, expected {}",
        d.x_forms.size(), d.dim_x);
  check_columns(d.values, d.value_names, rows, "values");
  const std::int64_t all = rows + (d.targets ? d.places() : 0);
  check_groups(d.groups, rows, all, "rows");
  check_groups(d.target_groups, d.places(), all, "targets");
  check(d.targets || d.target_groups.empty(), "[predict] groups of targets found, but no targets");
  check(d.truth.empty() || d.truth.size() == d.values.size(), "[predict] {} columns of truth found, expected {}",
        d.truth.size(), d.values.size());
  check_columns(d.truth, d.value_names, d.places(), "truths");
}

/// The observed values as their transforms take them, and these.
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

void check_options(const FillOptions& options) {
  for (const double p : options.quantiles)
    check(p > 0 && p < 1, "[predict] the quantile {} found, expected a number above 0 and below 1", p);
  check(options.samples >= 0 && options.neighbours >= 0 && options.chunk >= 1,
        "[predict] {} samples, {} neighbours and a chunk of {} found, expected at least 0, 0 and 1", options.samples,
        options.neighbours, options.chunk);
}

void complete_data(CompleteData& c) {
  FillData& d = c.data;
  if (d.x_names.empty()) d.x_names = numbered("x", static_cast<std::size_t>(std::max<std::int64_t>(d.dim_x, 0)));
  if (d.value_names.empty()) d.value_names = numbered("y", d.values.size());
  check_data(d);
  TableQuestion& q = c.question;
  q.x = d.x;
  q.y = d.values;
  q.groups = d.groups;
  q.targets = d.targets.value_or(d.x);
  q.target_groups = d.targets ? d.target_groups : d.groups;
  q.truth = d.truth;
  q.y_names = d.value_names;
  for (const auto groups : {q.groups, q.target_groups})
    for (const std::uint32_t g : groups) q.group_count = std::max<std::int64_t>(q.group_count, std::int64_t{g} + 1);
  if (d.targets || d.truth.empty()) return;
  for (std::size_t v = 0; v < d.truth.size(); ++v) {
    std::vector<double>& column = c.unseen.emplace_back(d.truth[v].begin(), d.truth[v].end());
    for (std::size_t i = 0; i < column.size(); ++i)
      if (!std::isnan(d.values[v][i])) column[i] = std::numeric_limits<double>::quiet_NaN();
  }
  q.truth = as_columns(c.unseen);
}

LocalOptions local_options(const FillOptions& options, const TrainingRange& range) {
  const LocalOptions usual;
  const bool turn = options.turn && options.standardise;
  if (options.neighbours > 0)
    return {.largest_context = options.neighbours, .neighbours = options.neighbours, .turn = turn};
  return {
      .largest_context = range.max_context, .neighbours = std::min(usual.neighbours, range.max_context), .turn = turn};
}

/// What became of the ends of series.
struct Ends {
  std::int64_t combined = 0;
  std::vector<EndScore> scores{};
};

/// Forecasts the ends of series in `columns`, and scores such forecasts if the options ask for it.
Ends end_forecasts(const TrainedModel& trained, const CompleteData& c, const FillOptions& options, bool transformed,
                   SeriesOptions series, const TrainingRange& range, std::vector<PredictedColumn>& columns) {
  const bool fit = c.data.dim_x == 1 && trained.model->dim_y() == 1 && options.standardise && !transformed &&
                   trained.checkpoint.run.protocol.data->application() == Application::tables;
  check(fit || (options.periods.empty() && !options.check_ends),
        "[predict] a period or a check of forecasts found, expected one input, no transform, and weights for tables");
  if (!fit) return {};
  series.quantiles.clear();
  series.samples = 0;
  const SeriesPredictor predictor(*trained.model, range, series);
  const TableEndOptions ends{.form = c.data.x_forms.empty() ? ColumnForm() : c.data.x_forms[0],
                             .periods = options.periods,
                             .quantiles = options.quantiles};
  Ends found;
  if (options.combine_ends) found.combined = forecast_table_ends(predictor, c.question, ends, columns);
  if (options.check_ends) found.scores = check_table_ends(predictor, c.question, ends);
  return found;
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
  for (std::size_t v = 0; v < result.columns.size(); ++v)
    look_for_limit(c.question.y[v], result.columns[v], v, result.report);
  result.warnings = result.report.warnings();
  if (result.unanswered > 0) result.warnings.push_back(no_prediction(result));
}

GpInputs gp_inputs(const FillData& d) {
  return {.dim_x = d.dim_x, .lonlat = d.lonlat, .x_groups = d.x_groups, .covariates = d.covariates};
}

/// Returns the number of inputs that are no covariates.
std::int64_t check_covariates(const FillData& d) {
  check(d.covariates >= 0 && d.covariates < d.dim_x,
        "[predict] {} covariates of {} inputs found, expected fewer than inputs", d.covariates, d.dim_x);
  check(d.x_groups.empty() || std::ssize(d.x_groups) == d.dim_x, "[predict] groups of {} inputs found, expected {}",
        d.x_groups.size(), d.dim_x);
  return d.dim_x - d.covariates;
}

void check_gp_inputs(const CompleteData& c) {
  const FillData& d = c.data;
  const std::int64_t coordinates = check_covariates(d);
  if (!d.lonlat) return;
  const auto dim_x = static_cast<std::size_t>(d.dim_x);
  check(coordinates >= 2, "[lonlat] {} inputs found, expected longitude and latitude first", coordinates);
  check_lonlat(d.x, dim_x);
  check_lonlat(c.question.targets, dim_x);
}

std::vector<SeriesProcess> processes_of(const std::vector<GpFit>& fits, const GpInputs& inputs, const CompleteData& c) {
  const std::vector<std::string> names = inputs.names(c.data.x_names);
  std::vector<SeriesProcess> all;
  for (std::size_t i = 0; i < fits.size(); ++i) {
    const auto groups = static_cast<std::size_t>(c.question.group_count);
    SeriesProcess& process =
        all.emplace_back(SeriesProcess{i / groups, static_cast<std::int64_t>(i % groups), fits[i]});
    process.values = named_values(fits[i], inputs, c.data.x_names);
    for (const GpSlope& slope : fits[i].slopes) process.slopes.push_back({names[slope.input], slope.value});
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

/// Predicts with weights a table of no other inputs than theirs.
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
                       .stop = options.stop};
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
  const bool transformed = !question.transforms.empty();
  Ends ends = end_forecasts(trained, c, options, transformed, series, range, answer.columns);
  FillResult result{.transforms = values.transforms,
                    .end_scores = std::move(ends.scores),
                    .report = {.range = range,
                               .local = local,
                               .combined_ends = ends.combined,
                               .standardised = options.standardise,
                               .transforms = values.transforms},
                    .weights = weights_used(checkpoint),
                    .density = density};
  take_answer(c, options, std::move(answer), result);
  compare_with_training(trained, question, result.report);
  finish_result(c, result);
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
}

}  // namespace

FillResult fill(const TrainedModel& trained, const FillData& data, const FillOptions& options) {
  const StopScope scope(options.stop);
  throw_if_stopped();
  CompleteData c{data};
  complete_data(c);
  check_options(options);
  FillResult result;
  if (data.lonlat || data.covariates > 0) {
    check_fits(trained, std::span(c.data.x_names).first(static_cast<std::size_t>(check_covariates(data))),
               c.data.value_names);
    check(data.covariates == 0 || !options.transform.any(),
          "[predict] covariates and a transform or bounds of values found, expected one of them");
    const PlainTable plain(c.data);
    CompleteData p{plain.data()};
    complete_data(p);
    result = fill_plain(trained, p, options);
    plain.finish(result);
  } else {
    result = fill_plain(trained, c, options);
  }
  add_baselines(c, options, result);
  return result;
}

FillResult fill_with_gp(const FillData& data, const FillOptions& options) {
  const StopScope scope(options.stop);
  throw_if_stopped();
  CompleteData c{data};
  complete_data(c);
  check_options(options);
  check_gp_inputs(c);
  check(!options.transform.any(),
        "[predict] a transform or bounds of values found, expected weights for tables, and not a "
        "Gaussian process");
  GpSeriesOptions series{.inputs = gp_inputs(c.data),
                         .gp = options.gp,
                         .quantiles = options.quantiles,
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
  TableAnswer answer = predict_table(
      {1, units_of, predict}, {.inputs = {-1e300, 1e300}, .max_context = range.max_context}, c.data.dim_x, c.question);
  FillResult result{
      .transforms = std::vector<ValueTransform>(c.data.values.size()),
      .report = {.range = range,
                 .local = {.largest_context = series.gp.largest_exact, .neighbours = series.gp.neighbours},
                 .fitted = true},
      .weights = {.model = std::string(kGaussianProcess)},
      .density = predictor.drew_jointly() ? Density::joint : Density::marginal};
  take_answer(c, options, std::move(answer), result);
  result.processes = processes_of(predictor.fits(), series.inputs, c);
  describe_inputs(c.question, 1, result.report);
  if (c.data.lonlat) result.report.around_the_world = false;
  if (result.processes.size() == 1)
    result.report.notes = describe_fit(result.processes[0].fit, series.inputs, c.data.x_names);
  finish_result(c, result);
  add_baselines(c, options, result);
  return result;
}

FillResult fill(const std::string& weights, const FillData& data, const FillOptions& options) {
  const std::string name = weights.empty() ? usual_weights(data.dim_x, data.covariates) : weights;
  return name == kGaussianProcess ? fill_with_gp(data, options) : fill(load_model(name), data, options);
}

std::string usual_weights(std::int64_t inputs, std::int64_t covariates) {
  constexpr std::int64_t kMost = 2;  // inputs that there are weights for
  return covariates > 0 || inputs > kMost ? std::string(kGaussianProcess) : default_weights(inputs);
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
