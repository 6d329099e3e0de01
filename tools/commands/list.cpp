#include <fmt/core.h>

#include <algorithm>

#include "datasets/protocol.h"
#include "engine/io/json.h"
#include "models/registry.h"
#include "models/training/checkpoint.h"
#include "models/training/named_weights.h"
#include "ops/gradcheck_cases.h"
#include "tools/cli/command.h"
#include "tools/cli/common_options.h"
#include "tools/cli/json_output.h"
#include "tools/cli/messages.h"

namespace npzoo {

namespace {

using nlohmann::json;

struct ListCommand {
  CommonOptions common;
  std::string what = "models";
};

void add_flags(Flags& flags, ListCommand& c) {
  add_flags(flags, c.common);
  flags.choice("what", c.what, {"models", "weights", "protocols", "ops"}, "models, weights, protocols or ops");
}

/// One row for each model under each protocol that has a preset of it: the counts differ.
json list_models() {
  std::vector<Protocol> protocols;
  for (const std::string& name : protocol_names()) protocols.push_back(load_protocol(name));
  json rows = json::array();
  for (const ModelInfo& info : models())
    for (const Protocol& protocol : protocols) {
      if (!protocol.models.contains(info.name)) continue;
      const auto model = make_model(model_spec(protocol, info.name), {.drawn = false});
      rows.push_back({{"name", info.name},
                      {"parameters", count_elements(named_parameters(*model))},
                      {"paper", info.paper},
                      {"protocol", protocol.name}});
    }
  return rows;
}

/// Scores by test distribution, the first one's first.
json scores_of(const Checkpoint& c) {
  const json evaluation = parse_json(c.exported->evaluation, "the scores");
  check(evaluation.is_array(), "the scores are no array");
  json scores = json::array();
  for (const json& row : evaluation) {
    const auto member = [&row](const char* key) { return row.is_object() ? row.value(key, json()) : json(); };
    const json test = member("test"), score = member("log_likelihood"), error = member("standard_error");
    check(test.is_string() && score.is_number() && (error.is_number() || error.is_null()),
          "a score of test {} is {} ± {}, expected a name and numbers", test.dump(), score.dump(), error.dump());
    scores.push_back({{"test", test}, {"log_likelihood", score}, {"standard_error", error}});
  }
  return scores;
}

json weights_row(const NamedWeights& weights) {
  json row{{"name", weights.name}, {"path", weights.path.string()}, {"problem", nullptr}};
  try {
    const Checkpoint c = load_checkpoint(weights.path);
    check(c.exported.has_value(), "is a checkpoint, expected weights that npzoo export wrote");
    row.update({{"model", c.run.spec.name},
                {"protocol", c.run.protocol.name},
                {"parameters", count_elements(named_parameters(*restore_model(c)))},
                {"bytes", std::filesystem::file_size(weights.path)},
                {"steps", c.step},
                {"seed", c.run.seed},
                {"commit", c.commit},
                {"command", c.exported->command},
                {"evaluation", scores_of(c)}});
  } catch (const Error& e) {
    row["problem"] = one_line(e.what());
  }
  return row;
}

/// One row for each file; one that cannot be used has a name, a path and a problem.
json list_weights() {
  json rows = json::array();
  for (const NamedWeights& weights : named_weights()) rows.push_back(weights_row(weights));
  return rows;
}

json list_protocols() {
  json rows = json::array();
  for (const std::string& name : protocol_names()) {
    const Protocol protocol = load_protocol(name);
    json tests = json::array();
    for (const TestConfig& test : protocol.evaluation.tests) tests.push_back(test.name);
    rows.push_back({{"name", name},
                    {"description", protocol.description},
                    {"steps", protocol.training.steps},
                    {"batch_size", protocol.training.batch_size},
                    {"tests", tests}});
  }
  return rows;
}

json list_ops() {
  json rows = json::array();
  for (const char* name : op_names()) rows.push_back({{"name", name}});
  return rows;
}

/// "rbf 1.380 ± 0.013, matern52 0.952 ± 0.012"
std::string scores_in_words(const json& row) {
  std::string words;
  for (const json& score : row.at("evaluation"))
    words += fmt::format(
        "{}{} {:.3f}{}", words.empty() ? "" : ", ", score.at("test").get<std::string>(),
        score.at("log_likelihood").get<double>(),
        score.at("standard_error").is_null() ? "" : fmt::format(" ± {:.3f}", score.at("standard_error").get<double>()));
  return words;
}

void print_rows(const std::string& what, const json& rows) {
  for (const json& row : rows) {
    const auto text = [&row](const char* key) { return row.at(key).get<std::string>(); };
    if (what == "models")
      fmt::print("{:<12} {:>9}  {:<22} {}\n", text("name"), row.at("parameters").get<std::int64_t>(), text("protocol"),
                 text("paper"));
    else if (what == "weights" && !row.at("problem").is_null())
      fmt::print("{:<34} {:>9}  {}: {}\n", text("name"), "-", text("path"), text("problem"));
    else if (what == "weights")
      fmt::print("{:<34} {:>9}  {}\n", text("name"), row.at("parameters").get<std::int64_t>(), scores_in_words(row));
    else if (what == "protocols")
      fmt::print("{:<22} {}\n", text("name"), text("description"));
    else
      fmt::print("{}\n", text("name"));
  }
}

int run(const ListCommand& command) {
  apply(command.common);
  const json rows = command.what == "models"      ? list_models()
                    : command.what == "weights"   ? list_weights()
                    : command.what == "protocols" ? list_protocols()
                                                  : list_ops();
  if (command.common.json)
    print_json(rows);
  else
    print_rows(command.what, rows);
  const auto unusable = std::ranges::count_if(
      rows, [](const json& row) { return row.contains("problem") && !row.at("problem").is_null(); });
  check(unusable == 0, "[list] weights that cannot be used: {} of {}", unusable, rows.size());
  return 0;
}

}  // namespace

extern const CommandInfo list_command =
    command<ListCommand, add_flags, run>("List models, trained weights, protocols or operations.");

}  // namespace npzoo
