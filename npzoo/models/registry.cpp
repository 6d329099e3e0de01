#include "npzoo/models/registry.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "npzoo/engine/words.h"

namespace npzoo {

namespace {

std::vector<ModelInfo>& known_models() {
  static std::vector<ModelInfo> known(built_in_models().begin(), built_in_models().end());
  return known;
}

}  // namespace

std::span<const ModelInfo> models() { return known_models(); }

AddedModel::AddedModel(const ModelInfo& info) : name_(info.name) {
  check(std::ranges::find(models(), name_, &ModelInfo::name) == models().end(),
        "[models] there is a model '{}' already, expected another name", name_);
  known_models().push_back(info);
}

AddedModel::~AddedModel() {
  std::erase_if(known_models(), [this](const ModelInfo& info) { return info.name == name_; });
}

const ModelInfo& model_info(const std::string& name) {
  const auto found = std::ranges::find(models(), name, &ModelInfo::name);
  if (found != models().end()) return *found;
  std::vector<std::string> names;
  for (const ModelInfo& m : models()) names.emplace_back(m.name);
  fail("[models] there is no model '{}'{}", name, expected_names(name, names, "npzoo list models"));
}

std::int64_t targets_at_a_time(Density density, std::int64_t wanted) {
  return density == Density::joint ? std::numeric_limits<std::int64_t>::max() : wanted;
}

ModelSpec model_spec(const Protocol& protocol, const std::string& model) {
  ModelSpec spec{model_info(model).name, model_config(protocol, model)};
  spec.config["dim_x"] = protocol.data->dim_x();
  spec.config["dim_y"] = protocol.data->dim_y();
  if (protocol.data->form() == model_info(model).takes)
    for (const auto& [key, value] : protocol.data->extra_sizes()) spec.config[key] = value;
  return spec;
}

std::unique_ptr<Model> make_model(const ModelSpec& spec, const InitialWeights& weights) {
  return model_info(spec.name).make(spec.config, weights);
}

}  // namespace npzoo
