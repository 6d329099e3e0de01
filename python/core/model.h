#pragma once

#include <nanobind/nanobind.h>

#include <memory>
#include <optional>
#include <string>

#include "npzoo/models/applications/trained_model.h"
#include "npzoo/models/registry.h"
#include "python/core/arrays.h"

namespace npzoo::python {

/// Trained weights and their model, shared by everything that was made from them.
struct Trained : TrainedModel {
  DType dtype = DType::float32;

  const ModelInfo& info() const { return model_info(checkpoint.run.spec.name); }
};

/// Loads weights by their name or file. Throws Error for a dtype other than "float32" and "float64".
std::shared_ptr<const Trained> load_trained(const std::string& weights, const std::string& dtype = "float32");

/// npzoo._core.Model.
struct LoadedModel {
  std::shared_ptr<const Trained> trained;
};

/// The same, for functions that compute in float32. Throws Error, which begins with `[where]`, for other models.
const TrainedModel& in_float32(const LoadedModel& model, const char* where);

/// Observed points as the model takes them, padding cleared.
struct ContextArrays {
  Context context;
  bool single = false;  // one task, given without its axis
};
/// Throws Error, naming the argument, for arrays that do not fit together or to the model.
ContextArrays context_from(const Trained& trained, const Array& xc, const Array& yc,
                           const std::optional<Array>& lengths);

/// Throws Error, naming the argument, if it has another number of tasks than the context, or their axis and the context
/// has not.
void check_tasks(const char* name, bool single, std::int64_t tasks, bool expected_single, std::int64_t expected);

void add_model(nanobind::module_& module);
void add_vjp(nanobind::module_& module);
void add_catalogue(nanobind::module_& module);
void add_training(nanobind::module_& module);
void add_decisions(nanobind::module_& module);
void add_events(nanobind::module_& module);
void add_tables(nanobind::module_& module);
void add_columns(nanobind::module_& module);
void add_gaussian_process(nanobind::module_& module);
void add_row_model(nanobind::module_& module);
void add_program(nanobind::module_& module);

}  // namespace npzoo::python
