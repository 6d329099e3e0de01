#pragma once

#include <memory>
#include <span>

#include "datasets/protocol.h"
#include "engine/init.h"
#include "models/model.h"
#include "models/parity/names.h"

namespace npzoo {

/// A model's row, which its own file gives by a function `ModelInfo NAME_info()`.
struct ModelInfo {
  const char* name;
  const char* title;
  const char* paper;
  std::unique_ptr<Model> (*make)(const ModelConfig& config, const InitialWeights& weights);
  /// Small models, one of each architecture and option, as JSON without the dimensions: tests of all models walk them.
  std::span<const char* const> small_forms;
  AuthorsNames authors_names = nullptr;  // null: no run of its authors' code has been recorded
  Density density = Density::marginal;   // of its figures
};

/// Every model of this build.
std::span<const ModelInfo> models();

/// Throws Error listing the models where there is none of that name.
const ModelInfo& model_info(const std::string& name);

/// How many targets a model may be asked for at a time by who wants `wanted`: all of them where it predicts them
/// jointly, since what it says of one may depend on all others.
std::int64_t targets_at_a_time(Density density, std::int64_t wanted);

/// The preset of a model under a protocol, complete with the protocol's dimensions.
ModelSpec model_spec(const Protocol& protocol, const std::string& model);

/// A model with freshly drawn weights, float32.
std::unique_ptr<Model> make_model(const ModelSpec& spec, const InitialWeights& weights = {});

}  // namespace npzoo
