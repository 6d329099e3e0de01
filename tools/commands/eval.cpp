#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "engine/io/file.h"
#include "models/training/checkpoint.h"
#include "models/training/named_weights.h"
#include "models/training/run_directory.h"
#include "models/trials/likelihood.h"
#include "models/trials/verdict.h"
#include "tools/cli/command.h"
#include "tools/cli/commit.h"
#include "tools/cli/common_options.h"
#include "tools/cli/json_value.h"
#include "tools/cli/messages.h"
#include "tools/cli/progress.h"
#include "tools/commands/scores.h"

namespace npzoo {

namespace {

struct EvalCommand {
  CommonOptions common;
  std::string checkpoint;  // path or name, as in every command
  std::string protocol;    // empty: the one it was trained under
  std::optional<std::int64_t> batches;
  std::optional<std::uint64_t> seed;
};

void add_flags(Flags& flags, EvalCommand& c) {
  add_flags(flags, c.common);
  add_checkpoint(flags, c.checkpoint);
  flags.text("--protocol", c.protocol, "instead of the one it was trained under");
  flags.whole("--batches", c.batches, {1}, "instead of the protocol's");
  flags.seed("--seed", c.seed, "of the test tasks, instead of the protocol's");
}

/// Exact posteriors may cost more than the model: so many batches tell their mean to about 0.01.
constexpr std::int64_t kExactBatches = 3000;

/// Standard errors of fewer batches are guesses, which must not accuse anybody.
constexpr std::int64_t kBatchesOfProof = 100;

/// A test, what the model scores on it, and what to hold that against.
struct Row {
  const TestConfig& test;
  Evaluation scores;
  Reference against;
};

/// Who beats what is possible has seen the answers. Empty for an honest model.
std::string leak(const Row& row) {
  const Evaluation& s = row.scores;
  const SeedMean ours{s.log_likelihood, s.standard_error, s.standard_error};
  if (judge(ours, row.against) == Verdict::above_oracle)
    return fmt::format("{}: log-likelihood {:.3f} ± {:.3f} is above its oracle, {:.3f}", row.test.name,
                       s.log_likelihood, s.standard_error, row.against.best->best.value);
  if (s.exact_batches > 0 && beats_exact_posterior(row.test.name, {s.exact_gap, s.exact_gap_error}))
    return fmt::format("{}: log-likelihood is {:.3f} ± {:.3f} above that of the exact posterior", row.test.name,
                       -s.exact_gap, s.exact_gap_error);
  return "";
}

std::optional<double> value_of(const std::optional<Estimate>& estimate) {
  return estimate ? std::optional(estimate->value) : std::nullopt;
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

JsonValue to_json(const Subject& subject, const Row& row) {
  JsonValue coverage = JsonValue::object();
  for (const auto& [percent, share] : row.scores.coverage) coverage.set(std::to_string(percent), share);
  return JsonValue::object({{"model", subject.run.spec.name},
                            {"protocol", subject.protocol.name},
                            {"test", row.test.name},
                            {"weights", subject.weights},
                            {"log_likelihood", row.scores.log_likelihood},
                            {"standard_error", row.scores.standard_error},
                            {"published", value_of(row.against.published)},
                            {"oracle", value_of(row.against.best)},
                            {"exact_gp", row.scores.exact_gp},
                            {"exact_gp_batches", row.scores.exact_batches},
                            {"exact_gap", row.scores.exact_gap},
                            {"exact_gap_error", row.scores.exact_gap_error},
                            {"coverage", coverage},
                            {"calibration_error", row.scores.calibration_error},
                            {"crps", row.scores.crps},
                            {"context_rmse", row.scores.context_rmse},
                            {"std_floor", row.scores.std_floor},
                            {"clamped_denominators", row.scores.clamped_denominators},
                            {"tasks", row.scores.tasks}});
}

void print(const Subject& subject, const Row& row) {
  const auto cell = [](const std::optional<double>& value) { return value ? fmt::format("{:.3f}", *value) : "-"; };
  const Evaluation& s = row.scores;
  fmt::print("{} on {} / {}, {} tasks\n", subject.run.spec.name, subject.protocol.name, row.test.name, s.tasks);
  fmt::print("  log-likelihood       {:.3f} ± {:.3f}  (nats per target point, higher is better)\n", s.log_likelihood,
             s.standard_error);
  fmt::print(
      "  exact GP posterior   {:.3f}           (true hyper-parameters, first {} batches: what no model beats on "
      "average; the model lacks {:.3f} ± {:.3f})\n",
      s.exact_gp, s.exact_batches, s.exact_gap, s.exact_gap_error);
  fmt::print("  Bayes oracle         {}\n  published            {}\n", cell(value_of(row.against.best)),
             cell(value_of(row.against.published)));
  fmt::print(
      "  coverage             50 %: {:.1f}   80 %: {:.1f}   90 %: {:.1f}   95 %: {:.1f}   (calibration error {:.1f})\n",
      100 * s.coverage.at(50), 100 * s.coverage.at(80), 100 * s.coverage.at(90), 100 * s.coverage.at(95),
      100 * s.calibration_error);
  fmt::print("  CRPS                 {:.4f}\n  at context points    {:.4f}          (RMSE; observed with noise {})\n",
             s.crps, s.context_rmse, row.test.data->training_range().context_noise);
  fmt::print("  smallest std         {}\n", s.std_floor);
  warn_of_clamped_denominators(s.clamped_denominators);
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

Row score(const EvalCommand& c, const Model& model, const Subject& subject, const TestConfig& test,
          std::int64_t batches) {
  const EvaluationConfig& rules = subject.protocol.evaluation;
  check(test.data->dim_x() == model.dim_x(), "[eval] {} has {} inputs per point, the model of {} takes {}",
        subject.protocol.name, test.data->dim_x(), c.checkpoint, model.dim_x());
  check(test.data->dim_y() == model.dim_y(), "[eval] {} has {} values per point, the model of {} predicts {}",
        subject.protocol.name, test.data->dim_y(), c.checkpoint, model.dim_y());
  const auto tasks = test.data->source({.batch_size = rules.batch_size,
                                        .seed = c.seed.value_or(rules.seed),
                                        .split = Split::evaluation,
                                        .device = default_device()});
  Progress progress("eval " + test.name, batches, {.unit = "batches"});
  const Evaluation scores = evaluate(model, *tasks,
                                     {.batches = batches,
                                      .exact_batches = kExactBatches,
                                      .density = density_of(rules, subject.run.spec.name),
                                      .context = true,
                                      .progress = [&](std::int64_t done) { progress.update(done); }});
  progress.finish();
  check(std::isfinite(scores.log_likelihood), "[eval] {}: the log-likelihood on {} is {}, expected a finite number",
        c.checkpoint, test.name, scores.log_likelihood);
  return {test, scores, reference(rules, test, subject.run.spec.name)};
}

int run(const EvalCommand& c) {
  apply(c.common);
  const std::filesystem::path path = find_weights(c.checkpoint);
  const Checkpoint checkpoint = load_checkpoint(path);
  const auto model = restore_model(checkpoint);
  const Protocol protocol = c.protocol.empty() ? checkpoint.run.protocol : load_protocol(c.protocol);
  const Subject subject{protocol, checkpoint.run, weights_checksum(checkpoint)};
  const std::int64_t batches = c.batches.value_or(protocol.evaluation.batches);
  JsonValue results = JsonValue::array();
  std::vector<std::string> leaks;
  for (const TestConfig& test : protocol.evaluation.tests) {
    const Row row = score(c, *model, subject, test, batches);
    if (std::string problem = leak(row); !problem.empty() && batches >= kBatchesOfProof)
      leaks.push_back(std::move(problem));
    results.push_back(to_json(subject, row));
    if (!c.common.json) print(subject, row);
  }
  if (c.common.json) print_json(results);
  check(leaks.empty(), "[eval] {} leaks: {}", c.checkpoint, fmt::join(leaks, "; "));
  const bool by_the_rules = c.protocol.empty() && !c.batches && !c.seed;
  if (by_the_rules && !checkpoint.exported) keep(path, subject.weights, results);
  return 0;
}

}  // namespace

extern const CommandInfo eval_command =
    command<EvalCommand, add_flags, run>("Score a checkpoint on the test distributions of a protocol.");

}  // namespace npzoo
