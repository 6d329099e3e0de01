#pragma once

#include <nlohmann/json.hpp>

#include "tools/cli/json_value.h"

namespace npzoo {

/// What a JsonValue is made of, for files that read JSON as well.
struct JsonTree {
  nlohmann::json value;
};

inline JsonValue json_value(nlohmann::json value) { return JsonValue(JsonTree{std::move(value)}); }

}  // namespace npzoo
