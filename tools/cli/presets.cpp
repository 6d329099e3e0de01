#include "tools/cli/presets.h"

#include <algorithm>

#include "npzoo/datasets/own_protocol.h"
#include "npzoo/engine/module.h"

namespace npzoo::tools {

std::optional<Protocol> protocol_with_preset(const std::string& model, const std::string& preferred) {
  std::optional<Protocol> first;
  for (const std::string& name : protocol_names()) {
    if (is_own_recipe(name)) continue;
    Protocol protocol = load_protocol(name);
    if (!protocol.models.contains(model)) continue;
    if (name == preferred || preferred.empty()) return protocol;
    if (!first) first = std::move(protocol);
  }
  return first;
}

std::vector<std::string> protocols_for_newcomers() {
  std::vector<std::string> names = protocol_names();
  const auto rank = [](const std::string& name) {
    return name.starts_with("quick/") ? 0 : name.starts_with("npzoo/") ? 1 : is_own_recipe(name) ? 3 : 2;
  };
  std::ranges::stable_sort(names, {}, rank);
  return names;
}

std::vector<Preset> presets_of(const std::string& model, std::span<const Protocol> protocols) {
  std::vector<Preset> presets;
  for (const Protocol& protocol : protocols) {
    if (!protocol.models.contains(model)) continue;
    const ModelSpec spec = model_spec(protocol, model);
    const std::int64_t parameters = count_elements(named_parameters(*make_model(spec, {.drawn = false})));
    presets.push_back({protocol.name, model_config(protocol, model), parameters});
  }
  return presets;
}

}  // namespace npzoo::tools
