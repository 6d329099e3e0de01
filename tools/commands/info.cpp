#include <fmt/core.h>

#include <algorithm>

#include "engine/error.h"
#include "engine/io/safetensors_header.h"
#include "models/training/named_weights.h"
#include "tools/cli/command.h"
#include "tools/cli/common_options.h"
#include "tools/cli/json_value.h"
#include "tools/cli/usage.h"
#include "tools/commands/weights_facts.h"

namespace npzoo {

namespace {

struct InfoCommand {
  CommonOptions common;
  ProtocolOptions subject;
};

void add_flags(Flags& flags, InfoCommand& c) {
  add_flags(flags, c.common);
  add_flags(flags, c.subject,
            "weights, MODEL:PROTOCOL (see: npzoo list weights), a protocol (see: npzoo list protocols), or the path of "
            "either",
            "name")
      .required();
}

bool is_protocol(const std::string& name) {
  return name.ends_with(".toml") || std::ranges::count(protocol_names(), name) > 0;
}

/// The file of weights that a name or a path stands for; who meant a protocol is told of those as well.
std::filesystem::path weights_file(const std::string& name) {
  std::error_code error;
  if (std::filesystem::exists(name, error)) return name;
  std::vector<std::string> known = protocol_names();
  for (const NamedWeights& weights : named_weights()) known.push_back(weights.name);
  check(std::ranges::find(known, name) != known.end(), "[info] there is no file, protocol or weights {}{}",
        excerpt(name), expected_words(name, known));
  return find_weights(name);
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
  const std::string& name = c.subject.name;
  const std::filesystem::path path = weights_file(name);
  check(c.subject.changes.empty(), "[info] --set found with {}, expected it with a protocol", excerpt(name));
  const Checkpoint checkpoint = load_checkpoint(path);
  const WeightsFacts facts = facts_of(path, checkpoint);
  const std::optional<std::string> card = card_beside(path);
  if (!c.common.json) {
    if (card) fmt::print("{}\n", *card);
    return fmt::print("{}", card_from(name, facts, checkpoint));
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
  if (is_protocol(c.subject.name))
    show_protocol(c);
  else
    show_weights(c);
  return 0;
}

}  // namespace

extern const CommandInfo info_command = command<InfoCommand, add_flags, run>(
    "Tell what weights are and how they were trained, or print a protocol in full.");

}  // namespace npzoo
