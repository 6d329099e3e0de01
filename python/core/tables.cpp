#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <tuple>

#include "npzoo/datasets/series/following_times.h"
#include "npzoo/engine/error.h"
#include "npzoo/models/applications/forecasts/forecast.h"
#include "npzoo/models/applications/tables/fill.h"
#include "python/core/arrays.h"
#include "python/core/calls.h"
#include "python/core/model.h"

namespace npzoo::python {

using namespace nb::literals;

namespace {

using Groups = nb::ndarray<const std::uint32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
/// Whether a column is of times, whether these have a zone, and the day that they count from.
using Form = std::tuple<bool, bool, std::int64_t>;

ColumnForm form_of(const Form& form) {
  const auto [time, zoned, epoch] = form;
  return {.kind = time ? ColumnForm::Kind::time : ColumnForm::Kind::number, .zoned = zoned, .epoch = epoch};
}

std::vector<std::span<const double>> spans_of(const std::vector<Doubles>& columns) {
  std::vector<std::span<const double>> spans;
  for (const Doubles& column : columns) spans.push_back(span_of(column));
  return spans;
}

std::span<const std::uint32_t> numbers_of(const std::optional<Groups>& groups) {
  return groups ? std::span<const std::uint32_t>(groups->data(), groups->size()) : std::span<const std::uint32_t>();
}

nb::list texts_of(const std::vector<Warning>& warnings) {
  nb::list all;
  for (const Warning& warning : warnings) all.append(nb::make_tuple(warning.about, warning.text));
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

/// Mean, standard deviation, quantiles (rows, Q) and samples (rows, S) of each value column, and what there is to say.
nb::dict as_dict(FillResult result) {
  const std::size_t rows = result.answered.size(), quantiles = result.quantiles.size(),
                    samples = static_cast<std::size_t>(result.samples);
  nb::dict all;
  nb::list columns, scores;
  for (PredictedColumn& column : result.columns)
    columns.append(nb::make_tuple(array_from(std::move(column.mean), {rows}), array_from(std::move(column.std), {rows}),
                                  array_from(std::move(column.quantiles), {rows, quantiles}),
                                  array_from(std::move(column.samples), {rows, samples})));
  for (const TruthScores& score : result.scores) scores.append(scores_of(score));
  all["columns"] = columns;
  all["scores"] = scores;
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
  all["comments"] = comments;
  return all;
}

/// Without a model a Gaussian process is fitted.
nb::dict fill_arrays(const LoadedModel* model, const Doubles& x, const std::vector<Doubles>& values,
                     const std::optional<Groups>& groups, const std::optional<Doubles>& targets,
                     const std::optional<Groups>& target_groups, const std::vector<Doubles>& truth,
                     const std::vector<std::string>& x_names, const std::vector<std::string>& value_names,
                     const std::vector<Form>& x_forms, const std::string& group_name,
                     const std::vector<double>& quantiles, std::int64_t samples, std::optional<std::uint64_t> seed,
                     bool standardise, std::int64_t neighbours, std::int64_t chunk, bool turn,
                     const std::vector<std::string>& periods, const std::string& transform,
                     const std::tuple<double, double>& bounds, bool counts, const std::string& kernel, bool lonlat,
                     nb::object progress) {
  const TrainedModel* trained = model ? &in_float32(*model, "fill") : nullptr;
  TransformOptions limits{
      .automatic = transform == "auto", .low = std::get<0>(bounds), .high = std::get<1>(bounds), .counts = counts};
  if (!transform.empty() && !limits.automatic) limits.kind = transform_kind(transform);
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
                .lonlat = lonlat};
  if (targets) data.targets = span_of(*targets);
  for (const Form& form : x_forms) data.x_forms.push_back(form_of(form));
  CallWatch watch;
  return as_dict(unlocked(watch, [&] {
    const FillOptions options{.quantiles = quantiles,
                              .samples = samples,
                              .seed = seed,
                              .standardise = standardise,
                              .neighbours = neighbours,
                              .turn = turn,
                              .chunk = chunk,
                              .gp = {.kernel = kernel},
                              .periods = periods,
                              .transform = limits,
                              .progress = watch.progress(progress)};
    return trained ? fill(*trained, data, options) : fill_with_gp(data, options);
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
  const FillOptions usual;
  constexpr double kUnbounded = std::numeric_limits<double>::infinity();
  module.def("fill", &fill_arrays, "model"_a.none(), "x"_a.noconvert(), "values"_a, "groups"_a = nb::none(),
             "targets"_a = nb::none(), "target_groups"_a = nb::none(), "truth"_a = std::vector<Doubles>(), "x_names"_a,
             "value_names"_a, "x_forms"_a = std::vector<Form>(), "group_name"_a = "",
             "quantiles"_a = std::vector<double>(), "samples"_a = 0, "seed"_a = nb::none(),
             "standardise"_a = usual.standardise, "neighbours"_a = usual.neighbours, "chunk"_a = usual.chunk,
             "turn"_a = usual.turn, "periods"_a = std::vector<std::string>(), "transform"_a = "",
             "bounds"_a = std::tuple(-kUnbounded, kUnbounded), "counts"_a = false, "kernel"_a = usual.gp.kernel,
             "lonlat"_a = false, "progress"_a = nb::none());
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
