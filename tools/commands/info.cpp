#include <fmt/core.h>

#include <algorithm>
#include <concepts>
#include <variant>

#include "npzoo/engine/error.h"
#include "npzoo/engine/io/safetensors_header.h"
#include "npzoo/engine/io/toml.h"
#include "npzoo/engine/words.h"
#include "npzoo/models/registry.h"
#include "npzoo/models/training/named_weights.h"
#include "tools/cli/command.h"
#include "tools/cli/common_options.h"
#include "tools/cli/json_value.h"
#include "tools/cli/presets.h"
#include "tools/reports/weights_facts.h"

namespace npzoo::tools {

namespace {

struct InfoCommand {
  CommonOptions common;
  ProtocolOptions subject;
  bool text = false;  // of the protocol, where its name stands for weights as well
};

void add_flags(Flags& flags, InfoCommand& c) {
  add_flags(
      flags, c.subject,
      "a model, weights or a protocol (see: npzoo list models, weights, protocols), or the path of a file of weights "
      "or a protocol. A protocol with one set of weights stands for these",
      "name")
      .required();
  flags.toggle("--text", c.text, "print the text of the protocol, also if its name stands for weights");
  add_flags(flags, c.common);
}

/// Whether a name means a protocol, and not the weights that belong to it.
bool means_protocol(const InfoCommand& c) {
  const std::string& name = c.subject.name;
  if (c.text || name.ends_with(".toml")) return true;
  if (std::ranges::count(protocol_names(), name) == 0) return false;
  return !c.subject.changes.empty() || !weights_named(name);
}

bool means_model(const std::string& name) {
  std::error_code error;
  return !std::filesystem::is_regular_file(name, error) && std::ranges::count(models(), name, &ModelInfo::name) > 0;
}

/// The file of weights that a name or a path stands for. An unknown name may be meant for something else.
std::filesystem::path weights_file(const std::string& name) {
  std::error_code error;
  if (std::filesystem::exists(name, error) || weights_named(name) || name.ends_with(".safetensors"))
    return find_weights(name);
  refuse_weights_elsewhere(name);
  std::vector<std::string> known = protocol_names();
  for (const NamedWeights& weights : named_weights()) known.push_back(weights.name);
  for (const ModelInfo& model : models()) known.emplace_back(model.name);
  fail("[info] there is no file, model, protocol or weights {}{}", excerpt(name),
       expected_names(name, known, "npzoo list models, weights or protocols"));
}

/// As a protocol has it.
std::string toml_value(const ModelConfig::mapped_type& value) {
  return std::visit(
      [](const auto& v) {
        if constexpr (std::same_as<std::decay_t<decltype(v)>, std::string>)
          return toml_string(v);
        else
          return fmt::format("{}", v);
      },
      value);
}

JsonValue json_value(const ModelConfig::mapped_type& value) {
  return std::visit([](const auto& v) { return JsonValue(v); }, value);
}

void show_model(const InfoCommand& c) {
  const ModelInfo& info = model_info(c.subject.name);
  check(c.subject.changes.empty(), "[info] --set found with {}, expected it with a protocol", excerpt(c.subject.name));
  std::vector<Protocol> protocols;
  for (const std::string& name : protocols_for_newcomers()) protocols.push_back(load_protocol(name));
  const std::vector<Preset> presets = presets_of(info.name, protocols);
  std::string text = fmt::format("# {}\n\n{}\nPaper: {}\n", info.name, info.title, info.paper);
  if (!presets.empty()) {
    text += fmt::format("\nOptions under {} (change one with --set models.{}.KEY=VALUE):\n", presets[0].protocol,
                        info.name);
    for (const auto& [key, value] : presets[0].config) text += fmt::format("  {} = {}\n", key, toml_value(value));
  }
  JsonValue rows = JsonValue::array();
  text += fmt::format("\n{:<32}  {:>10}  {}\n", "protocol", "parameters", "weights");
  for (const Preset& preset : presets) {
    const auto weights = weights_named(fmt::format("{}:{}", info.name, preset.protocol));
    text += fmt::format("{:<32}  {:>10}  {}\n", preset.protocol, preset.parameters, weights ? weights->name : "-");
    JsonValue options = JsonValue::object({});
    for (const auto& [key, value] : preset.config) options.set(key, json_value(value));
    rows.push_back(JsonValue::object({{"protocol", preset.protocol},
                                      {"parameters", preset.parameters},
                                      {"weights", weights ? JsonValue(weights->name) : JsonValue()},
                                      {"options", options}}));
  }
  if (!c.common.json) return fmt::print("{}", text);
  print_json(JsonValue::object(
      {{"kind", "model"}, {"name", info.name}, {"title", info.title}, {"paper", info.paper}, {"protocols", rows}}));
}

void show_protocol(const InfoCommand& c) {
  const Protocol protocol = load_protocol(c.subject);
  if (!c.common.json) return fmt::print("{}", protocol.text);
  JsonValue presets = JsonValue::array(), tests = JsonValue::array();
  for (const auto& [model, config] : protocol.models) presets.push_back(model);
  for (const TestConfig& test : protocol.evaluation.tests) tests.push_back(test.name);
  print_json(JsonValue::object({{"kind", "protocol"},
                                {"name", protocol.name},
                                {"description", protocol.description},
                                {"source", protocol.source},
                                {"inputs", protocol.data->dim_x()},
                                {"values", protocol.data->dim_y()},
                                {"steps", protocol.training.steps},
                                {"batch_size", protocol.training.batch_size},
                                {"models", presets},
                                {"tests", tests},
                                {"text", protocol.text}}));
}

void show_weights(const InfoCommand& c) {
  const std::filesystem::path path = weights_file(c.subject.name);
  const std::string name = full_weights_name(c.subject.name);
  check(c.subject.changes.empty(), "[info] --set found with {}, expected it with a protocol", excerpt(name));
  const Checkpoint checkpoint = load_checkpoint(path);
  const WeightsFacts facts = facts_of(path, checkpoint);
  const std::optional<std::string> card = card_beside(path);
  if (!c.common.json) {
    if (card) fmt::print("{}\n", *card);
    fmt::print("{}", card_from(name, facts, checkpoint));
    if (name != c.subject.name) fmt::print("- Text of the protocol: `npzoo info {} --text`.\n", c.subject.name);
    return;
  }
  JsonValue json = to_json(facts, checkpoint);
  json.update({{"kind", checkpoint.exported ? "weights" : "training"},
               {"name", name},
               {"path", path.string()},
               {"card", card},
               {"steps_to_go", checkpoint.run.protocol.training.steps - checkpoint.step}});
  print_json(json);
}

int run(const InfoCommand& c) {
  apply(c.common);
  if (means_protocol(c))
    show_protocol(c);
  else if (means_model(c.subject.name))
    show_model(c);
  else
    show_weights(c);
  return 0;
}

}  // namespace

extern const CommandInfo info_command =
    command<InfoCommand, add_flags, run>("Show a model, the card of trained weights, or the text of a protocol.",
                                         CommandGroup::look_up, "npzoo info tnp-d:tnp/gp-rbf");

}  // namespace npzoo::tools
