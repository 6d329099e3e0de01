#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "npzoo/datasets/data_folder.h"
#include "npzoo/engine/io/file.h"
#include "npzoo/models/registry.h"
#include "npzoo/models/training/checkpoint.h"
#include "npzoo/models/training/named_weights.h"
#include "npzoo/models/training/run_directory.h"
#include "npzoo/models/trials/trial.h"
#include "npzoo/models/trials/verdict.h"
#include "npzoo/ops/kriging/kriging.h"
#include "npzoo/ops/random_feature_attention/random_feature_attention.h"
#include "tools/cli/command.h"
#include "tools/cli/commit.h"
#include "tools/cli/common_options.h"
#include "tools/cli/json_value.h"
#include "tools/cli/messages.h"
#include "tools/cli/progress.h"
#include "tools/reports/scores.h"

namespace npzoo {

namespace {

struct EvalCommand {
  CommonOptions common;
  std::string checkpoint;    // path or name, as in every command
  ProtocolOptions protocol;  // without a name: the one it was trained under
  std::string data;
  std::optional<std::int64_t> batches;
  std::optional<std::uint64_t> seed;
};

void add_flags(Flags& flags, EvalCommand& c) {
  add_flags(flags, c.common);
  add_checkpoint(flags, c.checkpoint);
  add_flags(flags, c.protocol, "name or path of a protocol (default: the one it was trained under)");
  add_data(flags, c.data);
  flags.whole("--batches", c.batches, {1}, "number of test batches (default: the protocol's)");
  flags.seed("--seed", c.seed, "of the test tasks (default: the protocol's)");
}

/// Standard errors of fewer batches are guesses, which must not accuse anybody.
constexpr std::int64_t kBatchesOfProof = 100;

/// A test, what the model scores on it, and what to hold that against.
struct TestRow {
  const TestConfig& test;
  Findings found;
  std::int64_t batches = 0;
  std::int64_t clamped_denominators = 0;
  Reference against;
  bool chose_weights = false;  // by the best validation, which was on what is tested
};

/// Who beats what is possible has seen the answers. Empty for an honest model.
std::string leak(const EvaluationConfig& rules, const std::string& model, const TestRow& row) {
  for (const Figure& figure : row.found.figures) {
    if (figure.how.empty()) continue;  // the truth's own
    const auto& [value, error] = figure.value;
    const std::optional<Ceiling> best = reference_for(rules, row.test, model, figure.density).best;
    if (best && above({.value = value, .standard_error = error, .task_error = error}, *best))
      return fmt::format("{}: {} {:.3f} ± {:.3f} is above its oracle, {:.3f}", row.test.name, figure.words(), value,
                         error, best->best.value);
  }
  if (row.found.lacking && beats_exact_posterior(row.test.name, *row.found.lacking))
    return fmt::format("{}: {} is {:.3f} ± {:.3f} above that of the exact posterior", row.test.name,
                       row.found.headline().words(), -row.found.lacking->value, row.found.lacking->standard_error);
  return "";
}

std::optional<double> value_of(const std::optional<PublishedFigure>& figure) {
  return figure ? std::optional(figure->value) : std::nullopt;
}

std::optional<double> value_of(const std::optional<Ceiling>& best) {
  return best ? std::optional(best->best.value) : std::nullopt;
}

/// What was scored.
struct Subject {
  const Protocol& protocol;
  const TrainingRun& run;
  std::string weights;  // their checksum
};

/// Whether training kept the weights of its best validation, and that was on the data of this test.
bool chose_weights(const Subject& subject, const TestConfig& test) {
  const Protocol& trained = subject.run.protocol;
  return trained.training.keep_best && test.data->tested_on_validation() && same_data(trained, subject.protocol);
}

std::optional<Ceiling> best_possible(const Subject& subject, const TestRow& row, const Figure& figure) {
  return reference_for(subject.protocol.evaluation, row.test, subject.run.spec.name, figure.density).best;
}

/// Of figures that are no headline.
std::map<std::string, double> published_figures(const Subject& subject, const TestRow& row) {
  std::map<std::string, double> values;
  for (const auto& [figure, models] : row.test.published_figures)
    if (const auto found = models.find(subject.run.spec.name); found != models.end())
      values[figure] = found->second.value;
  return values;
}

/// Under its name and, where they are told, its error and its number of batches. The headline's error has no other
/// name.
void add_figure(JsonValue& row, const Figure& figure, const std::string& error_name) {
  row.set(figure.name, figure.value.value);
  if (figure.has_error) row.set(error_name, figure.value.standard_error);
  if (figure.batches) row.set(figure.name + "_batches", *figure.batches);
}

JsonValue to_json(const Subject& subject, const TestRow& row) {
  JsonValue json = JsonValue::object({{"model", subject.run.spec.name},
                                      {"protocol", subject.protocol.name},
                                      {"test", row.test.name},
                                      {"weights", subject.weights},
                                      {"published", value_of(row.against.published)},
                                      {"oracle", value_of(row.against.best)},
                                      {"clamped_denominators", row.clamped_denominators},
                                      {"tasks", row.found.tasks}});
  json.set("headline", row.found.headline().name);
  std::map<std::string, JsonValue> groups;
  const auto group = [&groups](const std::string& name) -> JsonValue& {
    return groups.try_emplace(name, JsonValue::object()).first->second;
  };
  for (const auto& [figure, published] : published_figures(subject, row))
    group("published_figures").set(figure, published);
  for (const Figure& figure : row.found.figures) {
    if (!figure.how.empty()) group("how").set(figure.name, figure.how);
    if (figure.density && !figure.how.empty())
      group("oracles").set(figure.name, value_of(best_possible(subject, row, figure)));
    const std::size_t dot = figure.name.find('.');
    if (dot == std::string::npos) {
      add_figure(json, figure, &figure == &row.found.headline() ? "standard_error" : figure.name + "_error");
    } else {
      group(figure.name.substr(0, dot)).set(figure.name.substr(dot + 1), figure.value.value);
    }
  }
  if (row.chose_weights) json.set("test_chose_weights", true);
  for (const auto& [name, members] : groups) json.set(name, members);
  return json;
}

void print(const Subject& subject, const TestRow& row) {
  const auto cell = [](const std::optional<double>& value) { return value ? fmt::format("{:.3f}", *value) : "-"; };
  fmt::print("{} on {} / {}, {} tasks\n", subject.run.spec.name, subject.protocol.name, row.test.name, row.found.tasks);
  if (row.chose_weights)
    fmt::print(
        "  this test also chose these weights: validation and test are the same data, so figures are too good\n");
  for (const std::string& line : row.found.headline_lines) fmt::print("  {}\n", line);
  std::vector<std::string> oracles;
  bool known = false;  // at least one of them
  for (const Figure& figure : row.found.figures)
    if (figure.density && !figure.how.empty()) {
      const std::optional<double> best = value_of(best_possible(subject, row, figure));
      known = known || best;
      oracles.push_back((&figure == &row.found.headline()   ? ""
                         : figure.density == Density::joint ? "joint "
                                                            : "each by itself ") +
                        cell(best));
    }
  if (known)
    fmt::print("  Bayes oracle         {}  (the highest average that a model can reach)\n", fmt::join(oracles, ", "));
  if (row.against.published) fmt::print("  published            {}\n", cell(value_of(row.against.published)));
  for (const std::string& line : row.found.further_lines) fmt::print("  {}\n", line);
  for (const auto& [name, published] : published_figures(subject, row))
    for (const Figure& figure : row.found.figures)
      if (figure.name == name) fmt::print("  {:<20} {:.5g}, published {:.5g}\n", name, figure.value.value, published);
  warn_of_clamped_denominators(row.clamped_denominators);
  warn_of_failed_factorisations(failed_factorisations());
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

TestRow score(const EvalCommand& c, const Model& model, const Subject& subject, const TestConfig& test,
              std::int64_t wanted) {
  const EvaluationConfig& rules = subject.protocol.evaluation;
  check(test.data->dim_x() == model.dim_x(), "[eval] {} has {} inputs per point, the model of {} takes {}",
        subject.protocol.name, test.data->dim_x(), c.checkpoint, model.dim_x());
  check(test.data->dim_y() == model.dim_y(), "[eval] {} has {} values per point, the model of {} predicts {}",
        subject.protocol.name, test.data->dim_y(), c.checkpoint, model.dim_y());
  const SourceOptions tasks{.batch_size = rules.batch_size,
                            .seed = c.seed.value_or(rules.seed),
                            .split = Split::evaluation,
                            .device = default_device()};
  const std::int64_t batches = batches_of(*test.data->source(tasks), wanted);
  const CountScope clamped(clamped_denominator_counter());
  Progress progress("eval " + test.name, batches, {.unit = "batches"});
  const Findings found =
      find_trial(rules.trial)
          .run(model, *test.data,
               {.tasks = tasks,
                .batches = batches,
                .density = density_of(rules, subject.run.spec.name),
                .rules = rules.rules,
                .untrained = [&] { return make_model(subject.run.spec, {.seed = subject.run.seed}); },
                .progress = [&](double done) { progress.update(done); }});
  progress.finish();
  const Figure& headline = found.headline();
  check(std::isfinite(headline.value.value), "[eval] {}: the {} on {} is {}, expected a finite number", c.checkpoint,
        headline.words(), test.name, headline.value.value);
  return {test,
          found,
          batches,
          clamped.count(),
          reference_for(rules, test, subject.run.spec.name, headline.density),
          chose_weights(subject, test)};
}

int run(const EvalCommand& c) {
  apply(c.common);
  set_data_folder(c.data);
  const std::filesystem::path path = find_weights(c.checkpoint);
  const Checkpoint checkpoint = load_checkpoint(path);
  const auto model = restore_model(checkpoint);
  const Protocol protocol = load_protocol(c.protocol, checkpoint.run.protocol);
  const Subject subject{protocol, checkpoint.run, weights_checksum(checkpoint)};
  const std::int64_t batches = c.batches.value_or(protocol.evaluation.batches);
  JsonValue results = JsonValue::array();
  std::vector<std::string> leaks;
  for (const TestConfig& test : protocol.evaluation.tests) {
    const TestRow row = score(c, *model, subject, test, batches);
    if (std::string problem = leak(protocol.evaluation, checkpoint.run.spec.name, row);
        !problem.empty() && row.batches >= kBatchesOfProof)
      leaks.push_back(std::move(problem));
    results.push_back(to_json(subject, row));
    if (!c.common.json) print(subject, row);
  }
  if (c.common.json) print_json(results);
  check(leaks.empty(), "[eval] {} leaks: {}", c.checkpoint, fmt::join(leaks, "; "));
  const bool by_the_rules = !c.protocol.given() && !c.batches && !c.seed;
  if (by_the_rules && !checkpoint.exported) keep(path, subject.weights, results);
  return 0;
}

}  // namespace

extern const CommandInfo eval_command =
    command<EvalCommand, add_flags, run>("Score a checkpoint on the test distributions of a protocol.");

}  // namespace npzoo
