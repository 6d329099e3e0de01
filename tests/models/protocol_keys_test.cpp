#include "npzoo/models/protocol_keys.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <set>

#include "npzoo/datasets/protocol.h"
#include "npzoo/engine/io/toml.h"
#include "npzoo/models/trials/trial.h"
#include "tests/models/model_fixtures.h"

using namespace npzoo;
using namespace npzoo::testing;

namespace {

using Names = std::set<std::string>;

/// All groups: those of every protocol, of every kind, trial and model.
std::vector<KeyGroup> all_groups() {
  std::vector<KeyGroup> all = protocol_keys();
  for (const auto& names : {kinds_with_keys(), trials_with_keys(), models_with_keys()})
    for (const std::string& name : names)
      for (KeyGroup& group : protocol_keys(name)) all.push_back(std::move(group));
  return all;
}

/// Described names, and those of them whose values may be tables that are no further described.
struct Described {
  Names names, forms;

  void add(const std::vector<KeyGroup>& groups, std::string_view table) {
    for (const KeyGroup& group : groups) {
      if (!group.table.starts_with(table)) continue;
      for (const DescribedKey& key : group.keys) {
        names.insert(key.name);
        if (key.type != "table" && key.type != "array of tables") forms.insert(key.name);
      }
    }
  }
};

Described described(const std::vector<KeyGroup>& groups, std::string_view table) {
  Described found;
  found.add(groups, table);
  return found;
}

/// Adds the names of the keys of a table, as described_keys writes them.
void add_names(const toml::table& table, const std::string& before, Names& names) {
  for (const auto& [key, value] : table) {
    const std::string name = before + std::string(key.str());
    names.insert(name);
    if (const toml::table* inner = value.as_table()) add_names(*inner, name + ".", names);
    if (const toml::array* array = value.as_array(); array && array->is_array_of_tables())
      for (const toml::node& each : *array) add_names(*each.as_table(), name + "[].", names);
  }
}

Names names_in(const toml::table& table) {
  Names names;
  add_names(table, "", names);
  return names;
}

/// Names that no description has. A described name may be free (NAME).
Names undescribed(const Names& names, const Described& described) {
  Names found;
  for (const std::string& name : names) {
    bool is_described = described.names.contains(name);
    for (std::size_t dot = name.rfind('.'); dot != name.npos && !is_described; dot = name.rfind('.', dot - 1)) {
      const std::string parent = name.substr(0, dot);
      is_described = described.names.contains(parent + ".NAME") || described.forms.contains(parent);
    }
    if (!is_described) found.insert(name);
  }
  return found;
}

Names undescribed(const toml::table& table, const std::vector<KeyGroup>& groups, std::string_view group) {
  return undescribed(names_in(table), described(groups, group));
}

/// The keys of a protocol without a description.
Names undescribed_keys(const std::string& text) {
  toml::table protocol = parse_toml(text, "protocol");
  const auto kind = protocol["data"]["kind"].value<std::string>();
  const std::vector<KeyGroup> groups = protocol_keys(),
                              of_kind = protocol_keys(std::string(present_kind(kind.value())));
  const Described changeable = described(of_kind, "[[evaluation.tests]]");
  Described tests = changeable;
  tests.add(groups, "[[evaluation.tests]]");
  Names missing = undescribed(*protocol["training"].as_table(), groups, "[training]");
  const auto add = [&missing](const Names& more) { missing.insert(more.begin(), more.end()); };
  for (const toml::node& test : *protocol["evaluation"]["tests"].as_array()) {
    toml::table own = *test.as_table();
    own.erase("data");
    add(undescribed(names_in(own), tests));
  }
  if (const toml::table* tasks = protocol["validation"]["tasks"].as_table())
    add(undescribed(names_in(*tasks), changeable));
  protocol["evaluation"].as_table()->erase("tests");
  protocol["validation"].as_table()->erase("tasks");
  if (const auto trial = protocol["evaluation"]["trial"].value<std::string>())
    if (const toml::table* rules = protocol["evaluation"]["rules"].as_table())
      add(undescribed(*rules, protocol_keys(*trial), "[evaluation]"));
  protocol["evaluation"].as_table()->erase("rules");
  add(undescribed(*protocol["validation"].as_table(), groups, "[validation]"));
  add(undescribed(*protocol["evaluation"].as_table(), groups, "[evaluation]"));
  protocol["data"].as_table()->erase("kind");
  add(undescribed(*protocol["data"].as_table(), of_kind, "[data]"));
  for (const auto& [model, preset] : *protocol["models"].as_table())
    add(undescribed(*preset.as_table(), protocol_keys(std::string(model.str())), "[models"));
  for (const char* table : {"training", "validation", "evaluation", "data", "models"}) protocol.erase(table);
  add(undescribed(protocol, groups, "Top level"));
  return missing;
}

}  // namespace

TEST_CASE("protocol keys: every key has a type and one line that is short") {
  std::size_t keys = 0;
  for (const KeyGroup& group : all_groups())
    for (const DescribedKey& key : group.keys) {
      INFO(group.table, " ", key.name);
      CHECK(!key.type.empty());
      CHECK(!key.meaning.empty());
      CHECK(key.meaning.size() <= 100);
      CHECK(key.meaning.find('\n') == std::string::npos);
      ++keys;
    }
  CHECK(keys > 300);
}

TEST_CASE("protocol keys: every key of every protocol and of every small model is described") {
  for (const std::string& name : protocol_names()) {
    INFO(name);
    CHECK(undescribed_keys(load_protocol(name).text) == Names{});
  }
  for (const ModelCase& c : small_models()) {
    Names names;
    for (const auto& option : c.spec.config) names.insert(option.first);
    for (const char* given : {"dim_x", "dim_y", "num_classes"}) names.erase(given);
    INFO(c.label);
    CHECK(undescribed(names, described(protocol_keys(c.spec.name), "[models")) == Names{});
  }
}

TEST_CASE("protocol keys: a key without a description is found") {
  std::string text = load_protocol("quick/gp1d").text;
  text.replace(text.find("clip_norm"), 9, "clip_nerv");
  CHECK(undescribed_keys(text) == Names{"clip_nerv"});
}

TEST_CASE("protocol keys: an unknown name is an error that lists names") {
  CHECK_THROWS_WITH_AS(protocol_keys("gaussian"), doctest::Contains("[protocol] there are no keys of 'gaussian'"),
                       Error);
}
