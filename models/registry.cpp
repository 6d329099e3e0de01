#include "npzoo/models/registry.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "npzoo/engine/boundary.h"
#include "npzoo/engine/shared_rows.h"
#include "npzoo/engine/words.h"

namespace npzoo {

namespace {

SharedRows<ModelInfo>& known_models() {
  static auto* const known = new SharedRows<ModelInfo>(built_in_models());
  return *known;
}

}  // namespace

std::span<const ModelInfo> models() { return known_models().rows(); }

AddedModel::AddedModel(const ModelInfo& info) : name_(info.name) {
  known_models().change([&](std::vector<ModelInfo>& known) {
    check(std::ranges::find(known, name_, &ModelInfo::name) == known.end(),
          "[models] there is a model '{}' already, expected another name", name_);
    known.push_back(info);
  });
}

AddedModel::~AddedModel() {
  known_models().change([this](std::vector<ModelInfo>& known) {
    std::erase_if(known, [this](const ModelInfo& m) { return m.name == name_; });
  });
}

const ModelInfo& model_info(const std::string& name) {
  const std::span<const ModelInfo> known = models();
  const auto found = std::ranges::find(known, name, &ModelInfo::name);
  if (found != known.end()) return *found;
  std::vector<std::string> names;
  for (const ModelInfo& m : known) names.emplace_back(m.name);
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

namespace {

void check_takes_likelihood(const ModelInfo& info, const ModelConfig& config) {
  if (info.likelihoods || !config.contains("likelihood")) return;
  std::vector<std::string> takers;
  for (const ModelInfo& m : models())
    if (m.likelihoods) takers.emplace_back(m.name);
  fail("[{}] the key likelihood found, but this model has no other likelihoods than its own; those that have: {}",
       info.name, fmt::join(takers, ", "));
}

}  // namespace

std::unique_ptr<Model> make_model(const ModelSpec& spec, const InitialWeights& weights) {
  return with_errors([&] {
    const ModelInfo& info = model_info(spec.name);
    check_takes_likelihood(info, spec.config);
    return info.make(spec.config, weights);
  });
}

}  // namespace npzoo
