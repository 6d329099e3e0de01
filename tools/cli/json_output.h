#pragma once

#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

namespace npzoo {

/// A number, or null where there is none: JSON has no NaN.
inline nlohmann::json number_or_null(double value) {
  return std::isfinite(value) ? nlohmann::json(value) : nlohmann::json(nullptr);
}
inline nlohmann::json number_or_null(const std::optional<double>& value) {
  return value ? number_or_null(*value) : nlohmann::json(nullptr);
}

/// Prints the one result of a command that was asked for JSON.
void print_json(const nlohmann::json& result);

}  // namespace npzoo
