#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "npzoo/datasets/protocol.h"
#include "npzoo/engine/io/safetensors_header.h"
#include "npzoo/models/registry.h"
#include "npzoo/models/training/checkpoint.h"
#include "npzoo/models/training/named_weights.h"
#include "npzoo/ops/gradcheck_cases.h"
#include "tools/cli/command.h"
#include "tools/cli/common_options.h"
#include "tools/cli/json_value.h"
#include "tools/cli/messages.h"
#include "tools/cli/presets.h"
#include "tools/reports/weights_facts.h"

namespace npzoo::tools {

namespace {

struct ListCommand {
  CommonOptions common;
  std::string what = "models";
  std::vector<std::string> names;  // of models
  std::string protocol;            // whose presets are counted
};

void add_flags(Flags& flags, ListCommand& c) {
  flags.choice("what", c.what, {"models", "weights", "protocols", "ops"}, "models, weights, protocols or ops");
  flags.words("name", c.names,
              "after models: names of models, to list their numbers of parameters under each protocol");
  flags.text("--protocol", c.protocol,
             "with models: name or path of a protocol, to list its models and their numbers of parameters");
  add_flags(flags, c.common);
  flags.check_together([&c] {
    check(c.what == "models" || (c.names.empty() && c.protocol.empty()),
          "{} found after {}, expected no further argument", c.names.empty() ? "--protocol" : excerpt(c.names[0]),
          c.what);
  });
}

/// Rows of a list, as JSON and as text.
struct Listing {
  JsonValue rows = JsonValue::array();
  std::string text;
  std::int64_t count = 0, unusable = 0;

  void add(JsonValue row, std::string line) {
    rows.push_back(std::move(row));
    text += std::move(line) + "\n";
    ++count;
  }
};

template <class Range, class Width>
std::size_t widest(const Range& rows, const Width& text_of) {
  std::size_t width = 0;
  for (const auto& row : rows) width = std::max(width, std::string_view(text_of(row)).size());
  return width;
}

/// "Kim et al., ICLR 2019": a paper without its title.
std::string in_short(const std::string& paper) {
  const std::size_t first = paper.find(", "), last = paper.rfind(", ");
  return first == last ? paper : paper.substr(0, first) + paper.substr(last);
}

/// One row for each model.
Listing list_models() {
  std::map<std::string, JsonValue> weights;
  std::map<std::string, std::int64_t> counts;
  for (const NamedWeights& one : named_weights()) {
    const std::string model = one.name.substr(0, one.name.find(':'));
    weights.try_emplace(model, JsonValue::array()).first->second.push_back(one.name);
    ++counts[model];
  }
  const auto name_width = widest(models(), [](const ModelInfo& info) { return info.name; });
  const std::size_t paper_width = widest(models(), [](const ModelInfo& info) { return in_short(info.paper); });
  const auto line = [&](const std::string& name, const auto& count, const std::string& paper,
                        const std::string& title) {
    return fmt::format("{:<{}}  {:>7}  {:<{}}  {}", name, name_width, count, paper, paper_width, title);
  };
  Listing list{.text = line("name", "weights", "paper", "title") + "\n"};
  for (const ModelInfo& info : models())
    list.add(JsonValue::object({{"name", info.name},
                                {"title", info.title},
                                {"paper", info.paper},
                                {"weights", weights.try_emplace(info.name, JsonValue::array()).first->second}}),
             line(info.name, counts[info.name], in_short(info.paper), info.title));
  return list;
}

/// One row for each of these models under each protocol that has a preset of it.
Listing list_presets(const std::vector<std::string>& names, const std::vector<Protocol>& protocols) {
  struct Row {
    const ModelInfo& info;
    Preset preset;
  };
  std::vector<Row> rows;
  for (const std::string& name : names)
    for (Preset& preset : presets_of(name, protocols)) rows.push_back({model_info(name), std::move(preset)});
  const auto name_width = std::max<std::size_t>(4, widest(rows, [](const Row& row) { return row.info.name; }));
  const std::size_t protocol_width =
      std::max<std::size_t>(8, widest(rows, [](const Row& row) { return row.preset.protocol; }));
  const auto line = [&](const std::string& name, const std::string& protocol, const auto& parameters) {
    return fmt::format("{:<{}}  {:<{}}  {:>10}", name, name_width, protocol, protocol_width, parameters);
  };
  Listing list{.text = line("name", "protocol", "parameters") + "\n"};
  for (const Row& row : rows)
    list.add(JsonValue::object({{"name", row.info.name},
                                {"parameters", row.preset.parameters},
                                {"paper", row.info.paper},
                                {"protocol", row.preset.protocol}}),
             line(row.info.name, row.preset.protocol, row.preset.parameters));
  return list;
}

Listing list_models(const ListCommand& c) {
  if (c.names.empty() && c.protocol.empty()) return list_models();
  std::vector<std::string> names = c.names;
  if (names.empty())
    for (const ModelInfo& info : models()) names.emplace_back(info.name);
  for (const std::string& name : names) static_cast<void>(model_info(name));
  std::vector<Protocol> protocols;
  if (!c.protocol.empty())
    protocols.push_back(load_protocol(c.protocol));
  else
    for (const std::string& name : protocols_for_newcomers()) protocols.push_back(load_protocol(name));
  return list_presets(names, protocols);
}

constexpr const char* kWeightsRow = "{:<{}}  {:>6}  {:>6}  {:>10}  {:>7}  {:<70}  {}";

/// Returns the purpose of weights: the description of their protocol up to a colon.
std::string purpose(const NamedWeights& weights, const Protocol& protocol, std::int64_t inputs) {
  const std::string what = protocol.description.substr(0, protocol.description.find_first_of(":;"));
  return what + (is_default(weights.name, inputs) ? " (predict's own choice)" : "");
}

void add_weights(Listing& list, const NamedWeights& weights, std::size_t width) {
  JsonValue row = JsonValue::object({{"name", weights.name}, {"path", weights.path.string()}, {"problem", nullptr}});
  try {
    const Checkpoint c = load_checkpoint(weights.path);
    check(c.exported.has_value(), "is a checkpoint, expected weights that npzoo export wrote");
    const WeightsFacts facts = facts_of(weights.path, c);
    row.update(to_json(facts, c));
    row.set("description", c.run.protocol.description);
    list.add(row, fmt::format(kWeightsRow, weights.name, width, facts.dim_x, facts.dim_y, facts.parameters,
                              format_bytes(facts.bytes), purpose(weights, c.run.protocol, facts.dim_x),
                              facts.scores.empty() ? "none" : in_words(facts.scores)));
  } catch (const Error& e) {
    const std::string problem = one_line(e.what());
    row.set("problem", problem);
    list.add(row, fmt::format(kWeightsRow, weights.name, width, "-", "-", "-", "-", "-",
                              fmt::format("{}: {}", weights.path.string(), problem)));
    ++list.unusable;
  }
}

/// One row for each file, sorted by name; one that cannot be used has a name, a path and a problem.
Listing list_weights() {
  const std::vector<NamedWeights> all = named_weights();
  const std::size_t width = widest(all, [](const NamedWeights& weights) { return weights.name; });
  Listing list{.text =
                   fmt::format(kWeightsRow, "name", width, "inputs", "values", "parameters", "file", "for", "scores") +
                   "\n"};
  for (const NamedWeights& weights : all) add_weights(list, weights, width);
  return list;
}

Listing list_protocols() {
  const std::vector<std::string> names = protocols_for_newcomers();
  const std::size_t width = widest(names, [](const std::string& name) { return name; });
  Listing list{.text = fmt::format("{:<{}}  {}\n", "name", width, "tasks")};
  for (const std::string& name : names) {
    const Protocol protocol = load_protocol(name);
    JsonValue tests = JsonValue::array();
    for (const TestConfig& test : protocol.evaluation.tests) tests.push_back(test.name);
    list.add(JsonValue::object({{"name", name},
                                {"description", protocol.description},
                                {"steps", protocol.training.steps},
                                {"batch_size", protocol.training.batch_size},
                                {"tests", tests}}),
             fmt::format("{:<{}}  {}", name, width, protocol.description));
  }
  return list;
}

Listing list_ops() {
  Listing list;
  for (const char* name : op_names()) list.add(JsonValue::object({{"name", name}}), name);
  return list;
}

int run(const ListCommand& command) {
  apply(command.common);
  const Listing list = command.what == "models"      ? list_models(command)
                       : command.what == "weights"   ? list_weights()
                       : command.what == "protocols" ? list_protocols()
                                                     : list_ops();
  if (command.common.json)
    print_json(list.rows);
  else
    fmt::print("{}", list.text);
  check(list.unusable == 0, "[list] weights that cannot be used: {} of {}", list.unusable, list.count);
  return 0;
}

}  // namespace

extern const CommandInfo list_command = command<ListCommand, add_flags, run>(
    "List models, trained weights, protocols or operations.", CommandGroup::look_up, "npzoo list models");

}  // namespace npzoo::tools
