#include <fmt/core.h>

#include "datasets/protocol.h"
#include "models/registry.h"
#include "models/training/checkpoint.h"
#include "models/training/named_weights.h"
#include "ops/gradcheck_cases.h"
#include "tools/cli/command.h"
#include "tools/cli/common_options.h"
#include "tools/cli/json_value.h"
#include "tools/cli/messages.h"
#include "tools/commands/weights_facts.h"

namespace npzoo {

namespace {

struct ListCommand {
  CommonOptions common;
  std::string what = "models";
};

void add_flags(Flags& flags, ListCommand& c) {
  add_flags(flags, c.common);
  flags.choice("what", c.what, {"models", "weights", "protocols", "ops"}, "models, weights, protocols or ops");
}

/// What is listed, for programs and for people.
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

/// One row for each model under each protocol that has a preset of it: the counts differ.
Listing list_models() {
  std::vector<Protocol> protocols;
  for (const std::string& name : protocol_names()) protocols.push_back(load_protocol(name));
  Listing list;
  for (const ModelInfo& info : models())
    for (const Protocol& protocol : protocols) {
      if (!protocol.models.contains(info.name)) continue;
      const auto model = make_model(model_spec(protocol, info.name), {.drawn = false});
      const std::int64_t parameters = count_elements(named_parameters(*model));
      list.add(
          JsonValue::object(
              {{"name", info.name}, {"parameters", parameters}, {"paper", info.paper}, {"protocol", protocol.name}}),
          fmt::format("{:<12} {:>9}  {:<22} {}", info.name, parameters, protocol.name, info.paper));
    }
  return list;
}

void add_weights(Listing& list, const NamedWeights& weights) {
  JsonValue row = JsonValue::object({{"name", weights.name}, {"path", weights.path.string()}, {"problem", nullptr}});
  try {
    const Checkpoint c = load_checkpoint(weights.path);
    check(c.exported.has_value(), "is a checkpoint, expected weights that npzoo export wrote");
    const WeightsFacts facts = facts_of(weights.path, c);
    row.update(to_json(facts, c));
    list.add(row, fmt::format("{:<34} {:>6} {:>6} {:>10} {:>10}  {}", weights.name, facts.dim_x, facts.dim_y,
                              facts.parameters, format_bytes(facts.bytes), in_words(facts.scores)));
  } catch (const Error& e) {
    const std::string problem = one_line(e.what());
    row.set("problem", problem);
    list.add(row, fmt::format("{:<34} {:>6} {:>6} {:>10} {:>10}  {}: {}", weights.name, "-", "-", "-", "-",
                              weights.path.string(), problem));
    ++list.unusable;
  }
}

/// One row for each file; one that cannot be used has a name, a path and a problem.
Listing list_weights() {
  Listing list{.text = fmt::format("{:<34} {:>6} {:>6} {:>10} {:>10}  {}\n", "name", "inputs", "values", "parameters",
                                   "file", "scores")};
  for (const NamedWeights& weights : named_weights()) add_weights(list, weights);
  return list;
}

Listing list_protocols() {
  Listing list;
  for (const std::string& name : protocol_names()) {
    const Protocol protocol = load_protocol(name);
    JsonValue tests = JsonValue::array();
    for (const TestConfig& test : protocol.evaluation.tests) tests.push_back(test.name);
    list.add(JsonValue::object({{"name", name},
                                {"description", protocol.description},
                                {"steps", protocol.training.steps},
                                {"batch_size", protocol.training.batch_size},
                                {"tests", tests}}),
             fmt::format("{:<22} {}", name, protocol.description));
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
  const Listing list = command.what == "models"      ? list_models()
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

extern const CommandInfo list_command =
    command<ListCommand, add_flags, run>("List models, trained weights, protocols or operations.");

}  // namespace npzoo
