#include "tools/reports/protocol_keys.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "npzoo/models/protocol_keys.h"

namespace npzoo::tools {

namespace {

std::vector<KeyGroup> groups_of(const std::string& name) {
  return name.empty() ? protocol_keys() : protocol_keys(name);
}

std::string text_of(const DescribedKey& key) {
  std::string text = fmt::format("  {}  {}", key.name, key.type);
  if (!key.default_value.empty()) text += fmt::format(", default {}", key.default_value);
  if (key.optional) text += ", optional";
  if (!key.condition.empty()) text += fmt::format(" ({})", key.condition);
  return fmt::format("{}\n      {}\n", text, key.meaning);
}

}  // namespace

std::string protocol_keys_text(const std::string& name) {
  std::string text = name.empty() ? "Keys of a protocol, a TOML file.\n" : fmt::format("Keys of {}.\n", name);
  for (const KeyGroup& group : groups_of(name)) {
    text += fmt::format("\n{}\n", group.table);
    for (const DescribedKey& key : group.keys) text += text_of(key);
  }
  if (!name.empty()) return text;
  text += fmt::format(
      "\nMore keys: npzoo help protocol NAME, where NAME is\n"
      "  a kind of tasks  {}\n  a trial          {}\n  a model          {}\n",
      fmt::join(kinds_with_keys(), ", "), fmt::join(trials_with_keys(), ", "), fmt::join(models_with_keys(), ", "));
  return text;
}

JsonValue protocol_keys_json(const std::string& name) {
  JsonValue tables = JsonValue::array();
  for (const KeyGroup& group : groups_of(name)) {
    JsonValue keys = JsonValue::array();
    for (const DescribedKey& key : group.keys)
      keys.push_back(JsonValue::object({{"name", key.name},
                                        {"type", key.type},
                                        {"meaning", key.meaning},
                                        {"default", key.default_value},
                                        {"optional", key.optional},
                                        {"condition", key.condition}}));
    tables.push_back(JsonValue::object({{"table", group.table}, {"keys", std::move(keys)}}));
  }
  return JsonValue::object({{"name", name},
                            {"tables", std::move(tables)},
                            {"kinds", JsonValue::array(kinds_with_keys())},
                            {"trials", JsonValue::array(trials_with_keys())},
                            {"models", JsonValue::array(models_with_keys())}});
}

}  // namespace npzoo::tools
