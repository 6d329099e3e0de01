#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "npzoo/models/registry.h"

namespace npzoo::tools {

/// The first protocol of the program, in the order of the list, that has a preset of `model`; `preferred` where that
/// one has. Those for data of the user's own have no tasks and do not count. None if no protocol has.
std::optional<Protocol> protocol_with_preset(const std::string& model, const std::string& preferred = {});

/// The protocols of the program: those for a first try and npzoo's own first, then the others by name, those for data
/// of the user's own last.
std::vector<std::string> protocols_for_newcomers();

/// The preset of a model under one protocol.
struct Preset {
  std::string protocol;
  ModelConfig config;
  std::int64_t parameters = 0;
};

/// The presets of `model` in the order of the protocols. Parameters are counted, weights are not drawn.
std::vector<Preset> presets_of(const std::string& model, std::span<const Protocol> protocols);

}  // namespace npzoo::tools
