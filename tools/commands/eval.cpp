#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "npzoo/datasets/data_folder.h"
#include "npzoo/engine/io/byte_hash.h"
#include "npzoo/engine/io/file.h"
#include "npzoo/engine/ranks/program_facts.h"
#include "npzoo/models/predictions/autoregressive_model.h"
#include "npzoo/models/registry.h"
#include "npzoo/models/training/checkpoint.h"
#include "npzoo/models/training/named_weights.h"
#include "npzoo/models/training/run_directory.h"
#include "npzoo/models/trials/score_test.h"
#include "tools/cli/command.h"
#include "tools/cli/commit.h"
#include "tools/cli/common_options.h"
#include "tools/cli/json_value.h"
#include "tools/cli/messages.h"
#include "tools/cli/progress.h"
#include "tools/cli/shared_job.h"
#include "tools/reports/scores.h"

namespace npzoo::tools {

namespace {

struct EvalCommand {
  CommonOptions common;
  std::string checkpoint;    // path or name, as in every command
  ProtocolOptions protocol;  // without a name: the one it was trained under
  std::string data;
  std::optional<std::int64_t> batches;
  std::optional<std::uint64_t> seed;
  std::filesystem::path expectations;  // empty: those of the program
  bool autoregressive = false;
  JobOptions job;
};

void add_flags(Flags& flags, EvalCommand& c) {
  add_flags(flags, c.common);
  add_checkpoint(flags, c.checkpoint);
  add_flags(flags, c.protocol, "name or path of a protocol (default: the one it was trained under)");
  add_data(flags, c.data);
  flags.whole("--batches", c.batches, {1}, "number of test batches (default: the protocol's)");
  flags.seed("--seed", c.seed, "seed of the test tasks (default: the protocol's)");
  flags.text("--expectations", c.expectations,
             "file of `npzoo oracle --expectation`, for figures with smaller errors (default: those of the program)");
  flags.toggle(
      "--autoregressive", c.autoregressive,
      "predict targets one after the other, each given those before it, which makes joint densities of a model "
      "that predicts each target by itself; slow");
  add_flags(flags, c.job);
}

/// A test and what the model scores on it.
struct TestRow {
  const TestConfig& test;
  TestScores scores;
};

std::optional<double> value_of(const std::optional<PublishedFigure>& figure) {
  return figure ? std::optional(figure->value) : std::nullopt;
}

std::optional<double> value_of(const std::optional<Ceiling>& best) {
  return best ? std::optional(best->best.value) : std::nullopt;
}

std::optional<Ceiling> best_possible(const ScoredModel& scored, const TestRow& row, const Figure& figure) {
  return reference_for(scored.protocol.evaluation, row.test, scored.run.spec.name, figure.density).best;
}

/// Returns the published figures besides the headline.
std::map<std::string, Published> published_figures(const ScoredModel& scored, const TestRow& row) {
  std::map<std::string, Published> values;
  for (const auto& [figure, models] : row.test.published_figures)
    if (const auto found = models.find(scored.run.spec.name); found != models.end()) values[figure] = found->second;
  return values;
}

/// Writes a figure under its name and, if known, its error and its number of batches. The headline's error has no other
/// name.
void add_figure(JsonValue& row, const Figure& figure, const std::string& error_name) {
  row.set(figure.name, figure.value.value);
  if (figure.has_error) row.set(error_name, figure.value.standard_error);
  if (figure.batches) row.set(figure.name + "_batches", *figure.batches);
}

JsonValue to_json(const ScoredModel& scored, const std::string& weights, const TestRow& row) {
  const Findings& found = row.scores.found;
  JsonValue json = JsonValue::object({{"model", scored.run.spec.name},
                                      {"protocol", scored.protocol.name},
                                      {"test", row.test.name},
                                      {"weights", weights},
                                      {"published", value_of(row.scores.against.published)},
                                      {"oracle", value_of(row.scores.against.best)},
                                      {"clamped_denominators", row.scores.events.clamped_denominators},
                                      {"tasks", found.tasks}});
  json.set("headline", found.headline().name);
  std::map<std::string, JsonValue> groups;
  const auto group = [&groups](const std::string& name) -> JsonValue& {
    return groups.try_emplace(name, JsonValue::object()).first->second;
  };
  for (const auto& [figure, published] : published_figures(scored, row))
    group("published_figures").set(figure, published.value);
  for (const Figure& figure : found.figures) {
    if (&figure == &found.headline() || published_figures(scored, row).contains(figure.name))
      group("better").set(figure.name, figure.more_is_better ? "higher" : "lower");
    if (!figure.how.empty()) group("how").set(figure.name, figure.how);
    if (figure.density && !figure.how.empty())
      group("oracles").set(figure.name, value_of(best_possible(scored, row, figure)));
    const std::size_t dot = figure.name.rfind('.');
    if (dot == std::string::npos) {
      add_figure(json, figure, &figure == &found.headline() ? "standard_error" : figure.name + "_error");
    } else {
      group(figure.name.substr(0, dot)).set(figure.name.substr(dot + 1), figure.value.value);
    }
  }
  if (row.scores.chose_weights) json.set("test_chose_weights", true);
  if (const auto& controlled = row.scores.controlled)
    json.set("controlled", JsonValue::object({{"value", controlled->value.value},
                                              {"standard_error", controlled->value.standard_error},
                                              {"expectation", controlled->expectation.value},
                                              {"expectation_error", controlled->expectation.standard_error},
                                              {"expectation_tasks", controlled->tasks}}));
  // "free_running.coverage" comes before "free_running", which holds it.
  for (auto group_of = groups.rbegin(); group_of != groups.rend(); ++group_of) {
    const auto& [name, members] = *group_of;
    const std::size_t dot = name.rfind('.');
    if (dot == std::string::npos)
      json.set(name, members);
    else
      group(name.substr(0, dot)).set(name.substr(dot + 1), members);
  }
  return json;
}

void print(const ScoredModel& scored, const TestRow& row) {
  const Findings& found = row.scores.found;
  const auto cell = [](const std::optional<double>& value) { return value ? fmt::format("{:.3f}", *value) : "-"; };
  fmt::print("{} on {} / {}, {} tasks\n", scored.run.spec.name, scored.protocol.name, row.test.name, found.tasks);
  if (row.scores.chose_weights)
    fmt::print("  validation used this test too: it chose the weights, so figures are too good\n");
  for (const std::string& line : found.headline_lines) fmt::print("  {}\n", line);
  if (const auto& controlled = row.scores.controlled)
    fmt::print(
        "  {:<20} {:.3f} ± {:.3f}  (expectation of the posterior, {:.4f} ± {:.4f}, minus the distance of the model)\n",
        "by the posterior", controlled->value.value, controlled->value.standard_error, controlled->expectation.value,
        controlled->expectation.standard_error);
  std::vector<std::string> oracles;
  bool known = false;  // at least one of them
  for (const Figure& figure : found.figures)
    if (figure.density && !figure.how.empty()) {
      const std::optional<double> best = value_of(best_possible(scored, row, figure));
      known = known || best;
      oracles.push_back((&figure == &found.headline()       ? ""
                         : figure.density == Density::joint ? "joint "
                                                            : "each by itself ") +
                        cell(best));
    }
  if (known)
    fmt::print("  Bayes oracle         {}  (the highest average that a model can reach)\n", fmt::join(oracles, ", "));
  if (row.scores.against.published)
    fmt::print("  published            {}\n", cell(value_of(row.scores.against.published)));
  for (const std::string& line : found.further_lines) fmt::print("  {}\n", line);
  for (const auto& [name, published] : published_figures(scored, row))
    for (const Figure& figure : found.figures)
      if (figure.name == name)
        fmt::print("  {:<20} {:.5g}, published {:.5g}{}\n", name, figure.value.value, published.value,
                   published.error ? fmt::format(" ± {:.5g}", *published.error) : "");
  warn_of(row.scores.events);
}

/// Leaves the scores beside the checkpoint of a training, where `export` looks for them. Those of `reproduce` stay,
/// which tell more, as long as they are of the same weights.
void keep(const std::filesystem::path& checkpoint, const std::string& weights, const JsonValue& results) {
  const std::filesystem::path directory = checkpoint.parent_path(), path = directory / "evaluation.json";
  if (checkpoint.filename() != "checkpoint.safetensors" || !is_run_config(directory / "config.toml")) return;
  try {
    if (std::filesystem::exists(path) && is_reproduced(path, weights)) return;
    AtomicFile file(path);
    file.write(JsonValue::object({{"commit", kCommit}, {"results", results}}).dump(1) + "\n");
    file.commit();
  } catch (const Error& error) {  // the scores have been told; a directory may be another's
    fmt::print(stderr, "npzoo: warning: {}\n", one_line(error.what()));
  }
}

TestScores score(const EvalCommand& c, const ScoredModel& scored, const TestConfig& test,
                 std::span<const StoredExpectation> expectations, Job& job) {
  const EvaluationConfig& rules = scored.protocol.evaluation;
  std::optional<Progress> progress;
  TestScores scores =
      score_test(scored, test,
                 {.batches = c.batches.value_or(rules.batches),
                  .seed = c.seed.value_or(rules.seed),
                  .progress =
                      [&](double done, std::int64_t batches) {
                        if (progress) return progress->update(done);
                        progress.emplace("eval " + test.name, batches, Progress::Options{.unit = "batches"});
                      },
                  .expectations = expectations,
                  .job = &job});
  if (progress) progress->finish();
  if (!scores.unused_expectation.empty()) fmt::print(stderr, "npzoo: {}\n", scores.unused_expectation);
  return scores;
}

/// Throws OtherRankError unless all ranks score the same weights under the same protocol.
void compare_ranks(Job& job, const std::string& weights, const Protocol& protocol) {
  if (job.size() == 1) return;
  ByteHash text;
  text.add(protocol.text);
  std::vector<Job::Fact> facts = program_facts();
  facts.push_back({"weights", weights});
  facts.push_back({"protocol", text.digest()});
  job.compare(facts);
}

/// Gives a model the options that `--set models.NAME.KEY=VALUE` changes.
void change_options(ModelSpec& spec, const Protocol& before, const Protocol& after) {
  const auto preset = [&spec](const Protocol& protocol) {
    const auto found = protocol.models.find(spec.name);
    return found == protocol.models.end() ? ModelConfig() : found->second;
  };
  const ModelConfig old = preset(before);
  for (const auto& [key, value] : preset(after))
    if (const auto found = old.find(key); found == old.end() || found->second != value) spec.config[key] = value;
}

int eval_as_rank(const EvalCommand& c, Job& job) {
  apply(c.common);
  set_data_folder(c.data);
  const std::filesystem::path path = find_weights(c.checkpoint);
  Checkpoint checkpoint = load_checkpoint(path);
  const Protocol unchanged = c.protocol.name.empty() ? checkpoint.run.protocol : load_protocol(c.protocol.name);
  const Protocol protocol = with_changes(unchanged, c.protocol.changes);
  change_options(checkpoint.run.spec, unchanged, protocol);
  if (c.autoregressive) check_predicts_each_alone(model_info(checkpoint.run.spec.name), "eval");
  const auto model = restore_model(checkpoint);
  const AutoregressiveModel chain(*model);
  const ScoredModel scored{c.autoregressive ? static_cast<const Model&>(chain) : *model, checkpoint.run, protocol,
                           c.checkpoint};
  const std::string weights = weights_checksum(checkpoint);
  compare_ranks(job, weights, protocol);
  std::vector<StoredExpectation> own;
  if (!c.expectations.empty()) own = read_expectations(read_text(c.expectations), c.expectations.string());
  const std::span<const StoredExpectation> expectations = c.expectations.empty() ? built_in_expectations() : own;
  JsonValue results = JsonValue::array();
  std::vector<std::string> leaks;
  for (const TestConfig& test : protocol.evaluation.tests) {
    const TestRow row{test, score(c, scored, test, expectations, job)};
    if (std::string problem = leak(scored, test, row.scores); !problem.empty()) leaks.push_back(std::move(problem));
    results.push_back(to_json(scored, weights, row));
    if (!c.common.json) print(scored, row);
  }
  if (c.common.json) print_json(results);
  check(leaks.empty(), "[eval] {} leaks: {}", c.checkpoint, fmt::join(leaks, "; "));
  const bool by_the_rules = !c.protocol.given() && !c.batches && !c.seed && !c.autoregressive;
  if (by_the_rules && !checkpoint.exported && job.leads()) keep(path, weights, results);
  return 0;
}

int run(const EvalCommand& c) {
  SharedJob job(c.job);
  return job.run([&](Job& ranks) { return eval_as_rank(c, ranks); });
}

}  // namespace

extern const CommandInfo eval_command = command<EvalCommand, add_flags, run>(
    "Score a checkpoint on the test distributions of a protocol.", CommandGroup::train,
    "npzoo eval --checkpoint run/checkpoint.safetensors", Processes::several);

}  // namespace npzoo::tools
