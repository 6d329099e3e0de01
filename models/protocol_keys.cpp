#include "npzoo/models/protocol_keys.h"

#include <fmt/format.h>

#include <algorithm>

#include "npzoo/datasets/protocol.h"
#include "npzoo/engine/error.h"
#include "npzoo/engine/words.h"
#include "npzoo/models/registry.h"
#include "npzoo/models/trials/trial.h"

namespace npzoo {

namespace {

void remove_all(std::string& text, std::string_view part) {
  if (part.empty()) return;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part)) text.erase(at, part.size());
}

/// Takes the keys whose names begin with `prefix`.
KeyGroup take_group(std::vector<DescribedKey>& keys, std::string table, const std::string& prefix) {
  KeyGroup group{std::move(table), {}};
  std::vector<DescribedKey> others;
  for (DescribedKey& key : keys) {
    if (!key.name.starts_with(prefix)) {
      others.push_back(std::move(key));
      continue;
    }
    key.name.erase(0, prefix.size());
    remove_all(key.condition, prefix);
    group.keys.push_back(std::move(key));
  }
  keys = std::move(others);
  return group;
}

/// `data` of a protocol, and what tests and validations may change of it.
std::vector<KeyGroup> keys_of_kind(const TaskFamily& family) {
  std::vector<DescribedKey> keys = described_keys([&family] {
    TomlReader root("", ""), data = root.table("data", ""), test = root.table("test", "");
    static_cast<void>(family.read(data)->with_test_overrides(test));
  });
  std::vector<KeyGroup> groups{take_group(keys, fmt::format("[data] kind = \"{}\"", family.kind), "data.")};
  KeyGroup changes = take_group(keys, "[[evaluation.tests]] and [validation.tasks] may change", "test.");
  if (!changes.keys.empty()) groups.push_back(std::move(changes));
  return groups;
}

std::vector<DescribedKey> rules_of(const TrialInfo& trial) {
  return described_keys([&trial] { trial.trial().check_rules({}); });
}

/// A protocol gives the dimensions; with these all options can be read.
std::vector<DescribedKey> options_of(const ModelInfo& model) {
  const bool events = model.takes == TaskForm::events;
  ModelConfig sizes{{"dim_x", std::int64_t{events ? 1 : 2}}, {"dim_y", std::int64_t{events ? 2 : 1}}};
  if (events) sizes["num_classes"] = std::int64_t{2};
  return described_keys([&] { static_cast<void>(model.make(sizes, {})); });
}

}  // namespace

std::vector<KeyGroup> protocol_keys() {
  std::vector<DescribedKey> keys = described_protocol_keys();
  std::vector<KeyGroup> groups;
  for (const std::string table : {"training", "validation"})
    groups.push_back(take_group(keys, fmt::format("[{}]", table), table + "."));
  KeyGroup tests = take_group(keys, "[[evaluation.tests]]", "evaluation.tests[].");
  groups.push_back(take_group(keys, "[evaluation]", "evaluation."));
  groups.push_back(std::move(tests));
  groups.push_back(take_group(keys, "[models]", "models."));
  groups.push_back(take_group(keys, "[data]", "data."));
  groups.insert(groups.begin(), take_group(keys, "Top level", ""));
  return groups;
}

std::vector<KeyGroup> protocol_keys(const std::string& name) {
  std::vector<KeyGroup> groups;
  for (const TaskFamily& family : task_families())
    if (family.kind == name) groups = keys_of_kind(family);
  for (const TrialInfo& trial : built_in_trials()) {
    if (trial.name != name) continue;
    if (std::vector<DescribedKey> rules = rules_of(trial); !rules.empty())
      groups.push_back({fmt::format("[evaluation] trial = \"{}\", rules = {{ … }}", name), std::move(rules)});
  }
  for (const ModelInfo& model : models())
    if (model.name == name) groups.push_back({fmt::format("[models.{}]", name), options_of(model)});
  if (!groups.empty()) return groups;
  std::vector<std::string> known = kinds_with_keys();
  for (const auto& names : {trials_with_keys(), models_with_keys()})
    known.insert(known.end(), names.begin(), names.end());
  fail("[protocol] there are no keys of '{}'{}", name, expected_names(name, known, "npzoo help protocol"));
}

std::vector<std::string> kinds_with_keys() {
  std::vector<std::string> names;
  for (const TaskFamily& family : task_families()) names.emplace_back(family.kind);
  return names;
}

std::vector<std::string> trials_with_keys() {
  std::vector<std::string> names;
  for (const TrialInfo& trial : built_in_trials())
    if (!rules_of(trial).empty()) names.emplace_back(trial.name);
  return names;
}

std::vector<std::string> models_with_keys() {
  std::vector<std::string> names;
  for (const ModelInfo& model : models()) names.emplace_back(model.name);
  return names;
}

}  // namespace npzoo
