#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <bit>
#include <initializer_list>
#include <string>

#include "npzoo/datasets/protocol.h"
#include "npzoo/engine/error.h"
#include "npzoo/engine/io/toml.h"

namespace npzoo {

namespace {

/// A number as its bits, so that every machine makes the same text of it; 1 and 1.0 are the same number.
void append(std::string& text, const toml::node& node) {
  if (const toml::table* table = node.as_table()) {
    text += '{';
    for (const auto& [key, value] : *table) {  // sorted
      text += fmt::format("{}:{}=", key.str().size(), key.str());
      append(text, value);
    }
    text += '}';
  } else if (const toml::array* array = node.as_array()) {
    text += '[';
    for (const toml::node& value : *array) append(text, value);
    text += ']';
  } else if (const auto* string = node.as_string()) {
    text += fmt::format("{}:{}", string->get().size(), string->get());
  } else if (const auto* boolean = node.as_boolean()) {
    text += boolean->get() ? "true;" : "false;";
  } else {
    text += fmt::format("{:016x};", std::bit_cast<std::uint64_t>(node.value<double>().value_or(0) + 0.0));
  }
}

toml::table without(toml::table table, std::initializer_list<std::string_view> keys) {
  for (const std::string_view key : keys) table.erase(key);
  return table;
}

/// Gives kinds their present names: what they are called makes no difference.
void rename_kind(toml::table* data) {
  if (!data) return;
  if (const auto kind = (*data)["kind"].value<std::string>())
    data->insert_or_assign("kind", std::string(present_kind(*kind)));
}

toml::table tables_of(const Protocol& protocol) {
  toml::table root = parse_toml(protocol.text, "[protocol] " + protocol.name);
  rename_kind(root["data"].as_table());
  if (toml::array* tests = root["evaluation"]["tests"].as_array())
    for (toml::node& test : *tests)
      if (test.is_table()) rename_kind((*test.as_table())["data"].as_table());
  return root;
}

/// The table of one test and nothing of the others.
const toml::table& table_of(const std::string& test, const toml::table& root, const std::string& protocol) {
  if (const toml::array* tests = root["evaluation"]["tests"].as_array())
    for (const toml::node& node : *tests)
      if ((*node.as_table())["name"].value<std::string>() == test) return *node.as_table();
  fail("[protocol] {} has no test '{}'", protocol, test);
}

/// Returns the keys of a test that describe its tasks.
toml::table tasks_of(const toml::table& tested) {
  return without(tested, {"name", "oracle", "published", "published_figures"});
}

std::string digest_of(const std::string& text) {
  XXH128_canonical_t hash;
  XXH128_canonicalFromHash(&hash, XXH3_128bits(text.data(), text.size()));
  std::string digits;
  for (const unsigned char byte : hash.digest) digits += fmt::format("{:02x}", byte);
  return digits;
}

}  // namespace

std::string protocol_version(const Protocol& protocol, const std::string& test, const std::string& model) {
  const toml::table root = tables_of(protocol);
  const toml::table& tested = table_of(test, root, protocol.name);
  std::string text;
  for (const char* part : {"data", "training", "validation"}) append(text, *root[part].node());
  append(text, without(*root["evaluation"].as_table(), {"tests", "metric", "densities", "spread"}));
  append(text, tasks_of(tested));
  if (const auto preset = root["models"][model]) append(text, *preset.node());

  return digest_of(text);
}

std::string task_version(const Protocol& protocol, const std::string& test) {
  const toml::table root = tables_of(protocol);
  const toml::table& tested = table_of(test, root, protocol.name);
  std::string text;
  append(text, *root["data"].node());
  append(text, tasks_of(tested));
  const auto config = std::ranges::find(protocol.evaluation.tests, test, &TestConfig::name);
  if (config->data->batch_size_matters()) append(text, *root["evaluation"]["batch_size"].node());
  return digest_of(text);
}

bool same_data(const Protocol& a, const Protocol& b) {
  std::string texts[2];
  for (const int i : {0, 1}) {
    const toml::table root = tables_of(i == 0 ? a : b);
    append(texts[i], *root["data"].node());
    if (const auto tasks = root["validation"]["tasks"]) append(texts[i], *tasks.node());
  }
  return texts[0] == texts[1];
}

}  // namespace npzoo
