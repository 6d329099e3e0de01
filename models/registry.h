#pragma once

#include <limits>
#include <memory>
#include <span>

#include "npzoo/datasets/protocol.h"
#include "npzoo/engine/init.h"
#include "npzoo/models/model.h"
#include "npzoo/models/parity/authors.h"

namespace npzoo {

/// Number of parameters in the authors' code under a protocol's preset, or with `changes` to it, as JSON.
struct PublishedSize {
  const char* protocol;
  std::int64_t parameters;
  const char* changes = "{}";
};

/// Properties of a model that the tests of all models need.
struct ModelTraits {
  bool resamples = false;      // it draws from the points of a context: their order, and repeats, matter in law alone
  bool counts_points = false;  // a point that is given twice counts twice
  bool ordered = false;        // predictions depend on the order of the context's points
  std::int64_t most_inputs = std::numeric_limits<std::int64_t>::max();  // it refuses tasks with more inputs
};

/// A model's row. Its file defines it by a function `ModelInfo NAME_info()`.
struct ModelInfo {
  const char* name;
  const char* title;
  const char* paper;
  std::unique_ptr<Model> (*make)(const ModelConfig& config, const InitialWeights& weights);
  /// Small models, one of each architecture and option, as JSON without the dimensions. Tests of all models use them.
  std::span<const char* const> small_forms;
  std::span<const PublishedSize> sizes = {};
  std::span<const AuthorsCode> authors = {};  // from which runs have been recorded
  Density density = Density::marginal;        // of its figures: decides what they are compared with
  /// True if it predicts each target by itself although `density` is mixture: it samples no functions.
  bool draws_each_alone = false;
  /// The form of the tasks that it takes. In sequences of events and in series the order of points has a meaning. In
  /// series at equal steps the inputs have little (npzoo/datasets/events/event_task.h,
  /// npzoo/models/forecast/series_model.h).
  TaskForm takes = TaskForm::points;
  /// Its prediction of a single target has gradients with respect to the target's place, unless it takes some places
  /// alone.
  bool input_gradients = true;
  ModelTraits traits = {};
  /// It takes the keys of read_likelihood (npzoo/models/likelihoods/likelihood.h).
  bool likelihoods = false;

  /// Returns how targets are sampled: each alone (marginal), as functions (mixture), or together (joint).
  Density drawing() const { return draws_each_alone ? Density::marginal : density; }
};

/// Returns all models of this build and all added ones.
std::span<const ModelInfo> models();
/// Returns the models of this build: a table that `rows.py` makes from the words in `npzoo/models/meson.build`.
std::span<const ModelInfo> built_in_models();

/// Registers a model as long as it lives, such as one of a program's own. Threads that look for models meanwhile may
/// find it or not. Throws Error if there is one of that name.
class AddedModel {
 public:
  explicit AddedModel(const ModelInfo& info);
  AddedModel(const AddedModel&) = delete;
  AddedModel& operator=(const AddedModel&) = delete;
  ~AddedModel();

 private:
  std::string_view name_;
};

/// Returns a model's row. Throws Error listing the models if there is none of that name.
const ModelInfo& model_info(const std::string& name);

/// Returns the number of targets of one prediction if `wanted` are wanted: all of them if the model predicts them
/// jointly, since the prediction of one may depend on all others.
std::int64_t targets_at_a_time(Density density, std::int64_t wanted);

/// Returns the preset of a model under a protocol, with the protocol's dimensions.
ModelSpec model_spec(const Protocol& protocol, const std::string& model);

/// Makes a model with random weights, float32.
std::unique_ptr<Model> make_model(const ModelSpec& spec, const InitialWeights& weights = {});

}  // namespace npzoo
