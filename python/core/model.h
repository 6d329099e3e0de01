#pragma once

#include <nanobind/nanobind.h>

#include <memory>
#include <string>

#include "npzoo/models/registry.h"
#include "npzoo/models/training/checkpoint.h"

namespace npzoo::python {

/// Trained weights and their model, shared by everything that was made from them.
struct Trained {
  Checkpoint checkpoint;
  std::unique_ptr<Model> model;
  DType dtype = DType::float32;

  const ModelInfo& info() const { return model_info(checkpoint.run.spec.name); }
};

/// Loads weights by their name or file. Throws Error for a dtype other than "float32" and "float64".
std::shared_ptr<const Trained> load_trained(const std::string& weights, const std::string& dtype = "float32");

/// npzoo._core.Model.
struct LoadedModel {
  std::shared_ptr<const Trained> trained;
};

void add_model(nanobind::module_& module);
void add_vjp(nanobind::module_& module);
void add_catalogue(nanobind::module_& module);
void add_training(nanobind::module_& module);
void add_tables(nanobind::module_& module);
void add_program(nanobind::module_& module);

}  // namespace npzoo::python
