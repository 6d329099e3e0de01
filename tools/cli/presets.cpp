#include "tools/cli/presets.h"

namespace npzoo {

std::optional<Protocol> protocol_with_preset(const std::string& model, const std::string& preferred) {
  std::optional<Protocol> first;
  for (const std::string& name : protocol_names()) {
    Protocol protocol = load_protocol(name);
    if (!protocol.models.contains(model)) continue;
    if (name == preferred || preferred.empty()) return protocol;
    if (!first) first = std::move(protocol);
  }
  return first;
}

}  // namespace npzoo
