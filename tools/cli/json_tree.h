#pragma once

#include <nlohmann/json.hpp>

#include "tools/cli/json_value.h"

namespace npzoo::tools {

/// Implementation of JsonValue, also for files that read JSON.
struct JsonTree {
  nlohmann::json value;
};

inline JsonValue json_value(nlohmann::json value) { return JsonValue(JsonTree{std::move(value)}); }

}  // namespace npzoo::tools
