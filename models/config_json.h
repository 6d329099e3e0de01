#pragma once

#include <string>
#include <string_view>

#include "npzoo/datasets/model_config.h"

namespace npzoo {

/// A flat JSON object, `{"d_model": 64, "bound_std": false}`.
std::string to_json(const ModelConfig& config);

/// Reads one; a key whose value is null counts as absent. Throws Error, beginning with `where`, for anything but a flat
/// object of numbers, strings, booleans and nulls.
ModelConfig model_config_from_json(std::string_view text, std::string_view where);

}  // namespace npzoo
