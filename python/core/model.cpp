#include "python/core/model.h"

#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <filesystem>
#include <optional>

#include "npzoo/engine/draws.h"
#include "npzoo/engine/tape.h"
#include "python/core/arrays.h"
#include "python/core/calls.h"

namespace npzoo::python {

using namespace nb::literals;

namespace {

/// npzoo._core.Prediction. The last members need those before.
struct AnsweredQuery {
  std::shared_ptr<const Trained> trained;
  std::shared_ptr<const ContextState> state;
  bool single = false;
  std::uint64_t seed = 0;
  std::shared_ptr<const Prediction> prediction;
  Moments moments{};

  std::int64_t width() const { return trained->model->dim_y(); }
};

/// npzoo._core.State.
struct ConditionedModel {
  std::shared_ptr<const Trained> trained;
  std::shared_ptr<const ContextState> state;
  bool single = false;
  std::int64_t tasks = 1;
  std::uint64_t seed = 0;
};

ConditionedModel condition(const LoadedModel& self, const Array& xc, const Array& yc,
                           const std::optional<Array>& lengths, std::optional<std::uint64_t> seed,
                           std::int64_t samples) {
  const Trained& trained = *self.trained;
  return unlocked([&] {
    ContextArrays points = context_from(trained, xc, yc, lengths);
    const std::uint64_t chosen = seed.value_or(trained.checkpoint.run.seed);
    Draws draws(chosen, Purpose::prediction, 0);
    return ConditionedModel{self.trained, trained.model->condition(points.context, draws, samples), points.single,
                            points.context.xc.dim(0), chosen};
  });
}

ConditionedModel update(const ConditionedModel& self, const Array& xc, const Array& yc,
                        const std::optional<Array>& lengths) {
  const Trained& trained = *self.trained;
  return unlocked([&] {
    ContextArrays more = context_from(trained, xc, yc, lengths);
    check_tasks("update", more.single, more.context.xc.dim(0), self.single, self.tasks);
    return ConditionedModel{self.trained, trained.model->update(*self.state, more.context), self.single, self.tasks,
                            self.seed};
  });
}

AnsweredQuery query(const ConditionedModel& self, const Array& xt) {
  const Trained& trained = *self.trained;
  return unlocked([&] {
    Points x = points_from(xt, "xt", trained.model->dim_x(), trained.dtype);
    check_tasks("xt", x.single, x.values.dim(0), self.single, self.tasks);
    AnsweredQuery answer{self.trained, self.state, self.single, self.seed, trained.model->query(*self.state, x.values)};
    answer.moments = moments(*answer.prediction);
    return answer;
  });
}

Tensor values_of(const AnsweredQuery& self, const Array& y, DType dtype) {
  Points values = points_from(y, "y", self.width(), dtype);
  check(values.single == self.single, "[y] {} axes found, expected {} as in xt", y.ndim(), self.single ? 2 : 3);
  return std::move(values.values);
}

NumpyArray sample(const AnsweredQuery& self, std::int64_t n, std::optional<std::uint64_t> seed, bool functions) {
  check(n >= 1, "[sample] {} samples found, expected 1 or more", n);
  Tensor drawn = unlocked([&] {
    Draws draws(seed.value_or(self.seed), Purpose::prediction, 1);
    return functions ? self.prediction->functions(n, draws) : self.prediction->sample(n, draws);
  });
  return array_from(std::move(drawn), self.single, 1);
}

template <class F>
NumpyArray figures(const AnsweredQuery& self, F&& f) {
  return array_from(unlocked(f), self.single);
}

/// Writes what `npzoo export` writes. Weights of a training have no command and no scores yet.
void save_weights(const LoadedModel& self, const std::filesystem::path& path) {
  Checkpoint checkpoint = self.trained->checkpoint;
  if (checkpoint.commit.empty()) checkpoint.commit = "unknown";
  export_weights(path, checkpoint, checkpoint.exported.value_or(Provenance{.command = "", .evaluation = "[]"}));
}

void add_prediction(nb::module_& module) {
  nb::class_<AnsweredQuery>(module, "Prediction")
      .def_prop_ro("mean", [](const AnsweredQuery& self) { return array_from(self.moments.mean, self.single); })
      .def_prop_ro("std", [](const AnsweredQuery& self) { return array_from(self.moments.std, self.single); })
      .def_prop_ro("how", [](const AnsweredQuery& self) { return self.prediction->forms().joint; })
      .def(
          "quantile",
          [](const AnsweredQuery& self, double p) {
            return figures(self, [&] { return quantile(self.prediction->marginals(), p); });
          },
          "p"_a)
      .def(
          "cdf",
          [](const AnsweredQuery& self, const Array& y) {
            return figures(self, [&] { return cdf(self.prediction->marginals(), values_of(self, y, DType::float64)); });
          },
          "y"_a)
      .def(
          "crps",
          [](const AnsweredQuery& self, const Array& y) {
            return figures(self,
                           [&] { return crps(self.prediction->marginals(), values_of(self, y, DType::float64)); });
          },
          "y"_a)
      .def(
          "log_likelihood",
          [](const AnsweredQuery& self, const Array& y) {
            return figures(self, [&] {
              return self.prediction->log_likelihood(values_of(self, y, self.trained->dtype)).to(DType::float64);
            });
          },
          "y"_a)
      .def(
          "joint_log_likelihood",
          [](const AnsweredQuery& self, const Array& y) {
            return figures(
                self, [&] { return self.prediction->joint_log_likelihood(values_of(self, y, self.trained->dtype)); });
          },
          "y"_a)
      .def("sample", &sample, "n"_a, "seed"_a = nb::none(), "functions"_a = false);
}

}  // namespace

void check_tasks(const char* name, bool single, std::int64_t tasks, bool expected_single, std::int64_t expected) {
  check(single == expected_single, "[{}] {} axes found, expected {} as in xc", name, single ? 2 : 3,
        expected_single ? 2 : 3);
  check(tasks == expected, "[{}] {} tasks found, expected {} as in xc", name, tasks, expected);
}

ContextArrays context_from(const Trained& trained, const Array& xc, const Array& yc,
                           const std::optional<Array>& lengths) {
  Points x = points_from(xc, "xc", trained.model->dim_x(), trained.dtype);
  Points y = points_from(yc, "yc", trained.model->dim_y(), trained.dtype);
  check_tasks("yc", y.single, y.values.dim(0), x.single, x.values.dim(0));
  check(x.values.dim(1) == y.values.dim(1), "[yc] {} points found, expected {} as in xc", y.values.dim(1),
        x.values.dim(1));
  Tensor counts = lengths_from(lengths, "lengths", x.values.dim(0), x.values.dim(1));
  Context context{std::move(x.values), std::move(y.values), std::move(counts)};
  return {context.lengths.defined() ? clear_padding(context) : std::move(context), x.single};
}

std::shared_ptr<const Trained> load_trained(const std::string& weights, const std::string& dtype) {
  check(dtype == "float32" || dtype == "float64", "[load] dtype '{}' found, expected 'float32' or 'float64'", dtype);
  auto trained =
      std::make_shared<Trained>(Trained{load_model(weights), dtype == "float64" ? DType::float64 : DType::float32});
  for (const auto& [name, parameter] : named_tensors(*trained->model))
    parameter->value = parameter->value.to(trained->dtype);
  return trained;
}

const TrainedModel& in_float32(const LoadedModel& model, const char* where) {
  check(model.trained->dtype == DType::float32, "[{}] a model in float64 found, expected one in float32", where);
  return *model.trained;
}

void add_model(nb::module_& module) {
  add_prediction(module);
  nb::class_<ConditionedModel>(module, "State")
      .def("query", &query, "xt"_a)
      .def("update", &update, "xc"_a, "yc"_a, "lengths"_a = nb::none())
      .def_prop_ro("tasks", [](const ConditionedModel& self) { return self.tasks; });
  nb::class_<LoadedModel>(module, "Model")
      .def_static(
          "load",
          [](const std::string& weights, const std::string& dtype) {
            return unlocked([&] { return LoadedModel{load_trained(weights, dtype)}; });
          },
          "weights"_a, "dtype"_a = "float32")
      .def("condition", &condition, "xc"_a, "yc"_a, "lengths"_a = nb::none(), "seed"_a = nb::none(),
           "samples"_a = kSamples)
      .def(
          "save",
          [](const LoadedModel& self, const std::filesystem::path& path) {
            unlocked([&] { save_weights(self, path); });
          },
          "path"_a)
      .def_prop_ro("name", [](const LoadedModel& self) { return self.trained->checkpoint.run.spec.name; })
      .def_prop_ro("title", [](const LoadedModel& self) { return std::string(self.trained->info().title); })
      .def_prop_ro("protocol", [](const LoadedModel& self) { return self.trained->checkpoint.run.protocol.name; })
      .def_prop_ro("steps", [](const LoadedModel& self) { return self.trained->checkpoint.step; })
      .def_prop_ro("seed", [](const LoadedModel& self) { return self.trained->checkpoint.run.seed; })
      .def_prop_ro("dtype", [](const LoadedModel& self) { return std::string(to_string(self.trained->dtype)); })
      .def_prop_ro("dim_x", [](const LoadedModel& self) { return self.trained->model->dim_x(); })
      .def_prop_ro("dim_y", [](const LoadedModel& self) { return self.trained->model->dim_y(); })
      .def_prop_ro("parameters",
                   [](const LoadedModel& self) { return count_elements(named_parameters(*self.trained->model)); })
      .def_prop_ro("draws_functions",
                   [](const LoadedModel& self) { return self.trained->info().drawing() != Density::marginal; });
}

}  // namespace npzoo::python
