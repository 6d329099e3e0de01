#include "models/registry.h"

#include <algorithm>
#include <limits>

namespace npzoo {

const ModelInfo& model_info(const std::string& name) {
  const auto found = std::ranges::find(models(), name, [](const ModelInfo& m) { return std::string(m.name); });
  if (found != models().end()) return *found;
  std::string names;
  for (const ModelInfo& m : models()) names += (names.empty() ? "" : ", ") + std::string(m.name);
  fail("[models] there is no model '{}'; expected one of {}", name, names);
}

std::int64_t targets_at_a_time(Density density, std::int64_t wanted) {
  return density == Density::joint ? std::numeric_limits<std::int64_t>::max() : wanted;
}

ModelSpec model_spec(const Protocol& protocol, const std::string& model) {
  ModelSpec spec{model_info(model).name, model_config(protocol, model)};
  spec.config["dim_x"] = protocol.data->dim_x();
  spec.config["dim_y"] = protocol.data->dim_y();
  return spec;
}

std::unique_ptr<Model> make_model(const ModelSpec& spec, const InitialWeights& weights) {
  return model_info(spec.name).make(spec.config, weights);
}

}  // namespace npzoo
