#include <fmt/core.h>

#include "npzoo/engine/io/file.h"
#include "npzoo/models/training/named_weights.h"
#include "npzoo/models/training/pretrained.h"
#include "npzoo/models/training/trainer.h"
#include "tools/cli/command.h"
#include "tools/cli/common_options.h"
#include "tools/cli/json_value.h"
#include "tools/cli/outputs.h"
#include "tools/reports/scores.h"

namespace npzoo::tools {

namespace {

struct ExportCommand {
  CommonOptions common;
  std::string checkpoint;
  std::filesystem::path evaluation, out;  // no evaluation: the file beside the checkpoint
  bool unfinished = false;                // whether a training that has not ended will do
};

void add_flags(Flags& flags, ExportCommand& c) {
  add_flags(flags, c.common);
  flags.text("--checkpoint", c.checkpoint, "file that train wrote; with --evaluation also exported weights").required();
  flags.text("--evaluation", c.evaluation,
             "scores to write into the file, as eval --json prints them (default: evaluation.json, which eval and "
             "reproduce write beside the checkpoint; without it there are no scores)");
  flags.toggle("--unfinished", c.unfinished, "export a training that is not finished");
  flags.text("--out", c.out, "safetensors file to write, '-' for standard output").required();
}

/// Returns the source without folders, which mean nothing on another machine. The checksum beside it identifies the
/// file.
std::string portable(const std::string& source) {
  return source.find(':') == std::string::npos ? std::filesystem::path(source).filename().string() : source;
}

/// The command that trains these weights again: what differs from the protocol's own settings as flags.
std::string training_command(const TrainingRun& run) {
  Protocol protocol = parse_protocol(run.protocol.text, run.protocol.name);
  const TrainingConfig asked = protocol.training;
  const TrainingConfig& t = run.protocol.training;
  set_steps(protocol, t.steps);
  const std::int64_t validation_batches = run.protocol.validation.batches;
  std::string command = fmt::format("npzoo train --protocol {}", run.protocol.name);
  if (!run.init || is_preset(run)) command += fmt::format(" --model {}", run.spec.name);
  if (run.init) command += fmt::format(" --init {}", run.init->source);
  if (t.steps != asked.steps) command += fmt::format(" --steps {}", t.steps);
  if (t.batch_size != asked.batch_size) command += fmt::format(" --batch {}", t.batch_size);
  if (t.optimiser.lr != asked.optimiser.lr) command += fmt::format(" --lr {}", t.optimiser.lr);
  if (validation_batches != protocol.validation.batches)
    command += fmt::format(" --validation-batches {}", validation_batches);
  return command + fmt::format(" --seed {} --out DIR", run.seed);
}

constexpr const char* kNoScores = "[]";

/// The scores of these weights as JSON; none, with a note, if there are none.
std::string scores_for(const ExportCommand& c, const std::filesystem::path& evaluation, const Checkpoint& checkpoint) {
  std::error_code error;
  if (!c.evaluation.empty() || std::filesystem::exists(evaluation, error)) return read_scores(evaluation, checkpoint);
  fmt::print(stderr,
             "npzoo: note: exported without scores; to add them, run npzoo eval --checkpoint {} and export again\n",
             c.checkpoint);
  return kNoScores;
}

int run(const ExportCommand& c) {
  apply(c.common);
  const std::filesystem::path path = find_weights(c.checkpoint);
  const std::filesystem::path evaluation = c.evaluation.empty() ? path.parent_path() / "evaluation.json" : c.evaluation;
  check_outputs("export", c.common, {{"--out", c.out}}, {{"--checkpoint", path}, {"--evaluation", evaluation}});
  Checkpoint checkpoint = load_checkpoint(path);
  check(!checkpoint.exported || !c.evaluation.empty(),
        "[export] {} is an exported file, expected a checkpoint of training, or --evaluation with other scores",
        c.checkpoint);
  const std::int64_t steps = checkpoint.run.protocol.training.steps;
  check(c.unfinished || checkpoint.step == steps,
        "[export] {} has made {} of {} updates, expected a finished training; --unfinished exports it as it is",
        c.checkpoint, checkpoint.step, steps);
  if (checkpoint.run.init) checkpoint.run.init->source = portable(checkpoint.run.init->source);
  const std::string scores = scores_for(c, evaluation, checkpoint);
  const std::string command = checkpoint.exported ? checkpoint.exported->command : training_command(checkpoint.run);
  const std::int64_t bytes = export_weights(c.out, checkpoint, {command, scores});
  if (c.common.json)
    print_json(JsonValue::object({{"out", c.out.string()}, {"bytes", bytes}, {"command", command}}));
  else if (c.out != "-")
    fmt::print("{}: {} bytes\n", c.out.string(), bytes);
  return 0;
}

}  // namespace

extern const CommandInfo export_command = command<ExportCommand, add_flags, run>(
    "Write the weights of a checkpoint as a small file to share.", CommandGroup::train,
    "npzoo export --checkpoint run/checkpoint.safetensors --out mine.safetensors");

}  // namespace npzoo::tools
