#include <fmt/format.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <tuple>
#include <utility>

#include "npzoo/datasets/series/following_times.h"
#include "npzoo/engine/error.h"
#include "npzoo/engine/io/byte_hash.h"
#include "npzoo/engine/ranks/job.h"
#include "npzoo/engine/ranks/program_facts.h"
#include "npzoo/models/applications/forecasts/forecast.h"
#include "npzoo/models/applications/tables/fill.h"
#include "npzoo/models/applications/tables/fill_rows.h"
#include "npzoo/models/applications/tables/understood.h"
#include "python/core/calls.h"
#include "python/core/communicator.h"
#include "python/core/model.h"
#include "python/core/tables.h"
#include "python/core/terms.h"

namespace npzoo::python {

using namespace nb::literals;

namespace {

std::vector<std::span<const double>> spans_of(const std::vector<Doubles>& columns) {
  std::vector<std::span<const double>> spans;
  for (const Doubles& column : columns) spans.push_back(span_of(column));
  return spans;
}

nb::list texts_of(const std::vector<Warning>& warnings) {
  nb::list all;
  for (const Warning& warning : warnings) all.append(nb::make_tuple(warning.about, in_python_terms(warning.text)));
  return all;
}

nb::dict scores_of(const TruthScores& scores) {
  nb::dict row;
  row["rows"] = scores.rows;
  row["mae"] = scores.mae;
  row["rmse"] = scores.rmse;
  row["crps"] = scores.crps;
  row["coverage_95"] = scores.coverage_95;
  return row;
}

nb::list scores_of(const std::vector<TruthScores>& scores) {
  nb::list rows;
  for (const TruthScores& score : scores) rows.append(scores_of(score));
  return rows;
}

nb::dict dict_of(const std::vector<NamedValue>& values) {
  nb::dict all;
  for (const auto& [name, value] : values) all[name.c_str()] = value;
  return all;
}

/// Adds further facts about an answer: baselines, scores of forecasts, Gaussian processes.
void add_details(const FillResult& result, nb::dict& all) {
  nb::list baselines, ends, processes;
  for (const BaselineScores& other : result.baselines)
    baselines.append(nb::make_tuple(other.name, scores_of(other.scores)));
  for (const EndScore& s : result.end_scores)
    ends.append(nb::make_tuple(s.method, s.mase, s.crps, s.coverage_95, s.values));
  for (const SeriesProcess& p : result.processes) {
    nb::dict one;
    one["value"] = p.value;
    one["group"] = p.group;
    one["points"] = p.fit.points;
    one["kernel"] = p.fit.kernel.text();
    one["hyperparameters"] = dict_of(p.values);
    one["slopes"] = dict_of(p.slopes);
    one["log_density"] = p.fit.log_density;
    processes.append(one);
  }
  all["baselines"] = baselines;
  all["ends"] = ends;
  all["processes"] = processes;
}

/// Mean, standard deviation, quantiles (rows, Q) and samples (rows, S) of each value column, and notes.
nb::dict as_dict(FillResult result) {
  const std::size_t rows = result.answered.size(), quantiles = result.quantiles.size(),
                    samples = static_cast<std::size_t>(result.samples);
  nb::dict all;
  nb::list columns;
  for (PredictedColumn& column : result.columns)
    columns.append(nb::make_tuple(array_from(std::move(column.mean), {rows}), array_from(std::move(column.std), {rows}),
                                  array_from(std::move(column.quantiles), {rows, quantiles}),
                                  array_from(std::move(column.samples), {rows, samples})));
  all["columns"] = columns;
  all["scores"] = scores_of(result.scores);
  all["warnings"] = texts_of(result.warnings);
  all["unanswered"] = result.unanswered;
  nb::list blank;
  for (std::size_t row = 0; row < rows && result.unanswered > 0; ++row)
    if (!result.answered[row]) blank.append(row);
  all["blank"] = blank;
  all["weights"] = result.weights.name();
  nb::list transforms;
  for (const ValueTransform& t : result.transforms)
    transforms.append(nb::make_tuple(transform_name(t.kind), t.low, t.high, t.counts));
  all["transforms"] = transforms;
  nb::list comments;
  for (const std::string& line : result.report.comments()) comments.append(line);
  all["facts"] = comments;
  add_details(result, all);
  return all;
}

/// Sets the scale on which values are predicted, and their limits.
void limit_values(FillOptions& options, const std::string& transform, double low, double high, bool counts) {
  options.transform = {.automatic = transform == "auto", .low = low, .high = high, .counts = counts};
  if (!transform.empty() && !options.transform.automatic) options.transform.kind = transform_kind(transform);
}

/// Throws OtherRankError unless all ranks fill the same table with the same weights.
void compare_ranks(Job& job, const FillData& data, const TrainedModel* trained) {
  if (job.size() == 1) return;
  ByteHash table;
  const auto add = [&]<class T>(std::span<const T> values) {
    table.add(std::ssize(values));
    table.add(values.data(), values.size_bytes());
  };
  add(data.x);
  add(data.targets.value_or(std::span<const double>()));
  for (const auto& columns : {data.values, data.truth, data.helpers})
    for (const std::span<const double> column : columns) add(column);
  for (const auto& groups : {data.groups, data.target_groups}) add(groups);
  std::vector<Job::Fact> facts = program_facts();
  facts.push_back({"weights", trained != nullptr ? weights_checksum(trained->checkpoint) : "none"});
  facts.push_back({"table", table.digest()});
  job.compare(facts);
}

/// Without a model a Gaussian process is fitted; without an input columns predict each other.
nb::dict fill_arrays(const LoadedModel* model, const Doubles& x, const std::vector<Doubles>& values,
                     const FillOptions& usual, const std::optional<Groups>& groups,
                     const std::optional<Doubles>& targets, const std::optional<Groups>& target_groups,
                     const std::vector<Doubles>& truth, const std::vector<std::string>& x_names,
                     const std::vector<std::string>& value_names, const std::vector<Form>& x_forms,
                     const std::string& group_name, const std::vector<std::string>& group_labels, bool lonlat,
                     const CovariateColumns* covariates, const std::vector<Doubles>& helpers,
                     const std::vector<std::string>& helper_names, nb::object progress,
                     const Communicator& communicator) {
  const TrainedModel* trained = model ? &in_float32(*model, "fill") : nullptr;
  check(x.ndim() == 2, "[fill] x with {} axes found, expected 2: (rows, inputs)", x.ndim());
  FillData data{.dim_x = static_cast<std::int64_t>(x.shape(1)),
                .x = span_of(x),
                .values = spans_of(values),
                .groups = numbers_of(groups),
                .target_groups = numbers_of(target_groups),
                .truth = spans_of(truth),
                .x_names = x_names,
                .value_names = value_names,
                .group_name = group_name,
                .group_labels = group_labels,
                .lonlat = lonlat,
                .helpers = spans_of(helpers),
                .helper_names = helper_names};
  if (targets) data.targets = span_of(*targets);
  for (const Form& form : x_forms) data.x_forms.push_back(form_of(form));
  CallWatch watch;
  return as_dict(unlocked(watch, [&] {
    std::optional<WithCovariates> more;
    if (covariates && covariates->count() > 0) more.emplace(data, *covariates);
    const FillData all = more ? more->data(data) : data;
    FillOptions options = usual;
    options.progress = watch.progress(progress);
    const std::unique_ptr<Ranks> ranks = ranks_of(communicator);
    Job job(*ranks);
    options.job = &job;
    return run_in(job, [&] {
      compare_ranks(job, all, trained);
      if (all.dim_x == 0) return fill_rows_alone(all, options);
      FillResult result = trained ? fill(*trained, all, options) : fill_with_gp(all, options);
      const auto place = [](std::int64_t row) { return fmt::format("row {}", row); };
      if (auto runs = warning_of_runs(all, place)) result.warnings.push_back(std::move(*runs));
      return result;
    });
  }));
}

nb::dict forecast_arrays(const LoadedModel& model, const Doubles& time, const Doubles& values, const Form& form,
                         const std::vector<std::string>& value_names, std::int64_t horizon,
                         const std::vector<double>& quantiles, std::int64_t samples, std::optional<std::uint64_t> seed,
                         nb::object progress) {
  const TrainedModel& trained = in_float32(model, "forecast");
  check(values.ndim() == 2, "[forecast] values with {} axes found, expected 2: (rows, columns)", values.ndim());
  CallWatch watch;
  ForecastResult result = unlocked(watch, [&] {
    TimeSeries series =
        make_series(span_of(time), span_of(values), static_cast<std::int64_t>(values.shape(1)), form_of(form));
    return forecast(trained, std::move(series), {.time = "time", .values = value_names},
                    {.horizon = horizon,
                     .quantiles = quantiles,
                     .samples = samples,
                     .seed = seed,
                     .progress = watch.progress(progress)});
  });
  SeriesForecast& f = result.forecast;
  const std::size_t steps = f.time.size(), width = values.shape(1);
  nb::dict all;
  all["time"] = array_from(std::move(f.time), {steps});
  all["mean"] = array_from(std::move(f.mean), {steps, width});
  all["std"] = array_from(std::move(f.std), {steps, width});
  all["quantiles"] = array_from(std::move(f.quantiles), {steps, width, quantiles.size()});
  all["samples"] = array_from(std::move(f.samples), {steps, width, static_cast<std::size_t>(samples)});
  all["how"] = f.how;
  all["warnings"] = texts_of(result.warnings);
  all["weights"] = result.weights.name();
  return all;
}

}  // namespace

void add_tables(nb::module_& module) {
  nb::class_<FillOptions>(module, "FillOptions")
      .def(nb::init<>())
      .def_rw("quantiles", &FillOptions::quantiles)
      .def_rw("samples", &FillOptions::samples)
      .def_rw("autoregressive", &FillOptions::autoregressive)
      .def_rw("seed", &FillOptions::seed, nb::arg().none())
      .def_rw("standardise", &FillOptions::standardise)
      .def_rw("neighbours", &FillOptions::neighbours)
      .def_rw("turn", &FillOptions::turn)
      .def_rw("chunk", &FillOptions::chunk)
      .def_rw("compare_gp", &FillOptions::compare_gp)
      .def_rw("columns_help", &FillOptions::columns_help)
      .def_rw("baselines", &FillOptions::baselines)
      .def_rw("combine_ends", &FillOptions::combine_ends)
      .def_rw("periods", &FillOptions::periods)
      .def_rw("check_ends", &FillOptions::check_ends)
      .def_prop_rw(
          "kernel", [](const FillOptions& o) { return o.gp.kernel; },
          [](FillOptions& o, const std::string& kernel) { o.gp.kernel = kernel; })
      .def_prop_rw(
          "linear_mean", [](const FillOptions& o) { return o.gp.mean == GpMean::linear; },
          [](FillOptions& o, bool linear) { o.gp.mean = linear ? GpMean::linear : GpMean::constant; })
      .def("limit_values", &limit_values, "transform"_a, "low"_a, "high"_a, "counts"_a);
  module.def("usual_weights", nb::overload_cast<std::int64_t, std::int64_t, std::int64_t>(&usual_weights), "inputs"_a,
             "covariates"_a, "observed"_a);
  module.def("compares_with_gp", &compares_with_gp, "inputs"_a);
  module.def("fill", &fill_arrays, "model"_a.none(), "x"_a.noconvert(), "values"_a, "options"_a, nb::kw_only(),
             "groups"_a = nb::none(), "targets"_a = nb::none(), "target_groups"_a = nb::none(),
             "truth"_a = std::vector<Doubles>(), "x_names"_a, "value_names"_a, "x_forms"_a = std::vector<Form>(),
             "group_name"_a = "", "group_labels"_a = std::vector<std::string>(), "lonlat"_a = false,
             "covariates"_a = nb::none(), "helpers"_a = std::vector<Doubles>(),
             "helper_names"_a = std::vector<std::string>(), "progress"_a = nb::none(), "communicator"_a = nb::none());
  module.def("forecast", &forecast_arrays, "model"_a, "time"_a.noconvert(), "values"_a.noconvert(), "form"_a,
             "value_names"_a, "horizon"_a, "quantiles"_a, "samples"_a, "seed"_a, "progress"_a.none());
  module.def(
      "following_times",
      [](const Doubles& times, const Form& form, std::int64_t count) {
        std::vector<double> next = following_times(span_of(times), form_of(form), count);
        const std::size_t size = next.size();
        return array_from(std::move(next), {size});
      },
      "times"_a.noconvert(), "form"_a, "count"_a);
  module.def(
      "pooled_scores",
      [](const std::vector<std::tuple<std::int64_t, double, double, double, double>>& rows) {
        std::vector<TruthScores> all;
        for (const auto& [n, mae, rmse, crps, coverage] : rows) all.push_back({n, mae, rmse, crps, coverage});
        return scores_of(pooled(all));
      },
      "rows"_a);
}

}  // namespace npzoo::python
