#include "npzoo/models/applications/tables/fill.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_map>

#include "npzoo/engine/cancellation.h"
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

LocalOptions local_options(std::int64_t neighbours, const TrainingRange& range) {
  if (neighbours > 0) return {.largest_context = neighbours, .neighbours = neighbours};
  const LocalOptions usual;
  return {.largest_context = range.max_context, .neighbours = std::min(usual.neighbours, range.max_context)};
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

FillResult fill(const TrainedModel& trained, const FillData& data, const FillOptions& options) {
  const StopScope scope(options.stop);
  throw_if_stopped();
  CompleteData c{data};
  complete_data(c);
  check_options(options);
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
  const LocalOptions local = local_options(options.neighbours, range);
  SeriesOptions quiet = series;  // a choice among transforms makes no progress
  quiet.progress = nullptr;
  quiet.quantiles.clear();
  quiet.samples = 0;
  const std::vector<std::span<const double>> observed = c.question.y;
  const TransformedValues values =
      transform_values(options.transform, SeriesPredictor(*trained.model, range, quiet), local, c.question);
  TableAnswer answer =
      predict_table(SeriesPredictor(*trained.model, range, series), local, range, c.data.dim_x, c.question);
  if (FarPoints& far = answer.tally.far_values; far.points > 0)
    far.furthest = values.transforms[far.column].inverse(far.furthest);
  FillResult result{.columns = std::move(answer.columns),
                    .transforms = values.transforms,
                    .report = {.weights = weights_used(checkpoint),
                               .range = range,
                               .columns = {c.data.x_names, c.data.value_names, c.data.group_name},
                               .tally = std::move(answer.tally),
                               .local = local,
                               .standardised = options.standardise,
                               .x_forms = c.data.x_forms,
                               .transforms = values.transforms},
                    .weights = weights_used(checkpoint),
                    .quantiles = options.quantiles,
                    .samples = options.samples,
                    .density = density};
  if (!c.question.groups.empty() || !c.question.target_groups.empty()) result.report.groups = c.question.group_count;
  compare_with_training(trained, c.question, result.report);
  for (std::size_t v = 0; v < c.question.truth.size(); ++v)
    result.scores.push_back(score(result.columns[v], c.question.truth[v]));
  find_answered(result);
  for (std::size_t v = 0; v < observed.size(); ++v) look_for_limit(observed[v], result.columns[v], v, result.report);
  result.warnings = result.report.warnings();
  if (result.unanswered > 0) result.warnings.push_back(no_prediction(result));
  return result;
}

FillResult fill(const std::string& weights, const FillData& data, const FillOptions& options) {
  return fill(load_model(weights.empty() ? default_weights(data.dim_x) : weights), data, options);
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
