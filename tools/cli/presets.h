#pragma once

#include <optional>
#include <string>

#include "models/registry.h"

namespace npzoo {

/// The first protocol of the program, in the order of the list, that has a preset of `model`; `preferred` where that
/// one has. None where no protocol has.
std::optional<Protocol> protocol_with_preset(const std::string& model, const std::string& preferred = {});

}  // namespace npzoo
