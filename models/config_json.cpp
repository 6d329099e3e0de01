#include "npzoo/models/config_json.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "npzoo/engine/error.h"
#include "npzoo/engine/io/json.h"

namespace npzoo {

using nlohmann::json;

std::string to_json(const ModelConfig& config) {
  json object = json::object();
  for (const auto& [key, value] : config) object[key] = std::visit([](const auto& v) { return json(v); }, value);
  return object.dump();
}

ModelConfig model_config_from_json(std::string_view text, std::string_view where) {
  const json object = parse_json(text, fmt::format("{}: the model's config", where));
  check(object.is_object(), "{}: the model's config is not a JSON object", where);
  ModelConfig config;
  for (const auto& [key, value] : object.items()) {
    if (value.is_boolean())
      config[key] = value.get<bool>();
    else if (value.is_number_integer())
      config[key] = value.get<std::int64_t>();
    else if (value.is_number())
      config[key] = value.get<double>();
    else if (value.is_string())
      config[key] = value.get<std::string>();
    else if (!value.is_null())
      fail("{}: '{}' in the model's config is {}, expected a number, a string or a boolean", where, key,
           value.type_name());
  }
  return config;
}

}  // namespace npzoo
