// A fitted Gaussian process, for the regressor.
#include "npzoo/models/applications/gaussian_process/gaussian_process.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <tuple>

#include "npzoo/engine/error.h"
#include "npzoo/models/applications/tables/gp_series.h"
#include "python/core/arrays.h"
#include "python/core/calls.h"
#include "python/core/model.h"

namespace npzoo::python {

using namespace nb::literals;

namespace {

/// Points, the options of a fit, and its hyper-parameters: they restore a process to the last bit.
using ProcessState =
    std::tuple<std::int64_t, std::vector<double>, std::vector<double>, std::string, bool, std::vector<double>, double>;

/// npzoo._core.GaussianProcess: fitted to points that it keeps.
class FittedProcess {
 public:
  FittedProcess(std::int64_t dims, std::vector<double> x, std::vector<double> y, GpOptions options)
      : dims_(dims), x_(std::move(x)), y_(std::move(y)), options_(std::move(options)) {
    process_.emplace(GaussianProcess::fit(points(), options_));
    options_.kernel = process_->found().kernel.text();
    log_density_ = process_->found().log_density;
  }
  explicit FittedProcess(ProcessState state)
      : dims_(std::get<0>(state)),
        x_(std::move(std::get<1>(state))),
        y_(std::move(std::get<2>(state))),
        options_({.kernel = std::get<3>(state), .mean = std::get<4>(state) ? GpMean::linear : GpMean::constant}),
        log_density_(std::get<6>(state)) {
    process_.emplace(GaussianProcess::with(points(), std::get<5>(state), options_));
  }

  ProcessState state() const {
    std::vector<double> values;
    for (const GpValue& value : fit().values) values.push_back(value.value);
    return {dims_, x_, y_, options_.kernel, options_.mean == GpMean::linear, std::move(values), log_density_};
  }

  const GaussianProcess& process() const { return *process_; }
  const GpFit& fit() const { return process_->found(); }
  double log_density() const { return log_density_; }

  /// Targets (m, D) as numbers. Throws Error for another width.
  std::span<const double> targets(const Doubles& x) const {
    check(x.ndim() == 2 && static_cast<std::int64_t>(x.shape(1)) == dims_, "[gp] x of {} inputs found, expected {}",
          x.ndim() == 2 ? x.shape(1) : 0, dims_);
    return span_of(x);
  }
  /// The hyper-parameters by their names.
  std::vector<NamedValue> named(const std::vector<std::string>& x_names) const {
    return named_values(fit(), {.dim_x = dims_}, x_names);
  }

 private:
  GpPoints points() const { return {.dims = dims_, .x = x_, .y = y_}; }

  std::int64_t dims_;
  std::vector<double> x_, y_;
  GpOptions options_;
  std::optional<GaussianProcess> process_;
  double log_density_ = 0;
};

std::vector<double> vector_of(const Doubles& array) { return {array.data(), array.data() + array.size()}; }

void fit_process(FittedProcess* self, const Doubles& x, const Doubles& y, const std::string& kernel, bool linear_mean) {
  check(x.ndim() == 2, "[gp] x with {} axes found, expected 2: (points, inputs)", x.ndim());
  const GpOptions options{.kernel = kernel, .mean = linear_mean ? GpMean::linear : GpMean::constant};
  unlocked(
      [&] { new (self) FittedProcess(static_cast<std::int64_t>(x.shape(1)), vector_of(x), vector_of(y), options); });
}

nb::tuple predict(const FittedProcess& self, const Doubles& x) {
  const std::span<const double> targets = self.targets(x);
  GpFigures figures = unlocked([&] { return self.process().predict(targets); });
  const std::size_t rows = figures.mean.size();
  return nb::make_tuple(array_from(std::move(figures.mean), {rows}), array_from(std::move(figures.std), {rows}));
}

NumpyArray covariance(const FittedProcess& self, const Doubles& x) {
  const std::span<const double> targets = self.targets(x);
  const std::size_t rows = x.shape(0);
  return array_from(unlocked([&] { return self.process().covariance(targets); }), {rows, rows});
}

NumpyArray sample(const FittedProcess& self, const Doubles& x, std::int64_t count, std::uint64_t seed) {
  const std::span<const double> targets = self.targets(x);
  check(count >= 0, "[gp] {} samples found, expected 0 or more", count);
  Random random(seed);
  return array_from(unlocked([&] { return self.process().sample(targets, count, random); }),
                    {x.shape(0), static_cast<std::size_t>(count)});
}

nb::dict hyperparameters(const FittedProcess& self, const std::vector<std::string>& x_names) {
  nb::dict all;
  for (const auto& [name, value] : self.named(x_names)) all[name.c_str()] = value;
  return all;
}

}  // namespace

void add_gaussian_process(nb::module_& module) {
  nb::class_<FittedProcess>(module, "GaussianProcess")
      .def("__init__", &fit_process, "x"_a.noconvert(), "y"_a.noconvert(), "kernel"_a = GpOptions().kernel,
           "linear_mean"_a = false)
      .def("predict", &predict, "x"_a.noconvert())
      .def("covariance", &covariance, "x"_a.noconvert())
      .def("sample", &sample, "x"_a.noconvert(), "count"_a, "seed"_a)
      .def("hyperparameters", &hyperparameters, "x_names"_a)
      .def_prop_ro("kernel", [](const FittedProcess& self) { return self.fit().kernel.text(); })
      .def_prop_ro("log_density", &FittedProcess::log_density)
      .def("__getstate__", &FittedProcess::state)
      .def("__setstate__", [](FittedProcess& self, ProcessState state) {
        FittedProcess known = unlocked([&] { return FittedProcess(std::move(state)); });
        new (&self) FittedProcess(std::move(known));
      });
}

}  // namespace npzoo::python
