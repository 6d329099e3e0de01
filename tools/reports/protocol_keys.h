#pragma once

#include <string>

#include "tools/cli/json_value.h"

namespace npzoo::tools {

/// Returns what `npzoo help protocol` prints: the keys of all protocols, or those of a kind of tasks, a trial or a
/// model. Throws Error if there is nothing of that name.
std::string protocol_keys_text(const std::string& name);
JsonValue protocol_keys_json(const std::string& name);

}  // namespace npzoo::tools
