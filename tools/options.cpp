#include "tools/options.h"

#include <CLI/CLI.hpp>

#include "engine/config.h"
#include "tools/completion.h"
#include "tools/options_support.h"

namespace npzoo {

namespace {

constexpr int kWrongUsage = 2;
constexpr char kCheckpointHelp[] = "file that train or export wrote, or a name (see: npzoo list weights)";

void add_list(CLI::App& app, ListCommand& c) {
  CLI::App& sub = subcommand(app, "list", "List models, trained weights, protocols or operations.", c.common);
  sub.add_option("what", c.what, "models, weights, protocols or ops")
      ->check(CLI::IsMember({"models", "weights", "protocols", "ops"}))
      ->capture_default_str();
}

void add_devices(CLI::App& app, DevicesCommand& c) {
  subcommand(app, "devices", "List what --device can name on this machine.", c.common);
}

void add_train(CLI::App& app, TrainCommand& c) {
  CLI::App& sub = subcommand(app, "train", "Train a model under a protocol.", c.common);
  sub.add_option("--protocol", c.protocol, "name (see: npzoo list protocols) or path of a TOML file");
  sub.add_option("--model", c.model, "name (see: npzoo list models)");
  sub.add_option("--out", c.out, "directory for checkpoint, metrics and resolved configuration")->required();
  sub.add_option("--steps", c.steps, "number of updates instead of the protocol's")->check(CLI::PositiveNumber);
  sub.add_option("--batch", c.batch, "tasks per update instead of the protocol's")->check(CLI::PositiveNumber);
  sub.add_option("--lr", c.lr, "peak learning rate instead of the protocol's")->check(CLI::PositiveNumber);
  sub.add_option("--seed", c.seed, "of initial weights and data")->capture_default_str();
  sub.add_flag("--resume", c.resume, "go on from the checkpoint in --out; the other flags may then be left out");
  sub.callback([&c] {
    if (!c.resume && (c.protocol.empty() || c.model.empty()))
      throw CLI::RequiredError("--protocol and --model (or --resume)");
  });
  sub.add_option("--checkpoint-every", c.checkpoint_every, "steps between checkpoints, 0 for every half minute")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
}

void add_eval(CLI::App& app, EvalCommand& c) {
  CLI::App& sub = subcommand(app, "eval", "Score a checkpoint on the test distributions of a protocol.", c.common);
  sub.add_option("--checkpoint", c.checkpoint, kCheckpointHelp)->required();
  sub.add_option("--protocol", c.protocol, "instead of the one it was trained under");
  sub.add_option("--batches", c.batches, "instead of the protocol's")->check(CLI::PositiveNumber);
  sub.add_option("--seed", c.seed, "of the test tasks, instead of the protocol's");
}

void add_export(CLI::App& app, ExportCommand& c) {
  CLI::App& sub =
      subcommand(app, "export", "Write the weights of a checkpoint as a small file to give away.", c.common);
  sub.add_option("--checkpoint", c.checkpoint, "file that train wrote")->required();
  sub.add_option("--evaluation", c.evaluation,
                 "what eval --json or reproduce told of it; evaluation.json beside the checkpoint where not given");
  sub.add_option("--out", c.out, "safetensors file to write, '-' for standard output")->required();
}

void add_oracle(CLI::App& app, OracleCommand& c) {
  CLI::App& sub = subcommand(app, "oracle", "Compute the best values that are possible under a protocol.", c.common);
  sub.add_option("protocol", c.protocol, "name (see: npzoo list protocols) or path of a TOML file")->required();
  sub.add_option("--tests", c.tests, "names of test distributions, a list like rbf,matern52; all of them if left out")
      ->delimiter(',');
  sub.add_option("--tasks", c.tasks, "for how many the hyper-parameters are integrated out; known ones cost little")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1'000'000'000}))
      ->capture_default_str();
  sub.add_option("--seed", c.seed, "of the tasks, instead of the protocol's");
  sub.add_option("--nodes", c.nodes, "of the quadrature, along each side of a cell")
      ->check(CLI::Range(4, 32))
      ->capture_default_str();
}

void add_predict(CLI::App& app, PredictCommand& c) {
  CLI::App& sub = subcommand(app, "predict", "Predict at the points of a table, given observed points.", c.common);
  sub.add_option("--checkpoint", c.checkpoint, kCheckpointHelp)->required();
  sub.add_option("--context", c.context, "CSV of observed points: the columns of --targets, and the values")
      ->required();
  sub.add_option("--targets", c.targets, "CSV of points to predict at, '-' for standard input")->required();
  sub.add_option("--out", c.out, "CSV to write: x, mean_* and std_* columns; '-' for standard output")->required();
  sub.add_option("--plot", c.plot, "picture to write as well, .svg or .png; for one input and at most 100000 targets");
  sub.add_flag("--no-standardise", c.as_is,
               "use inputs and values as they are, instead of mapping those of the context to the range and the "
               "standard deviation of training");
  sub.add_option("--chunk", c.chunk, "targets predicted at a time; bounds the memory")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
}

void add_plot(CLI::App& app, PlotCommand& c) {
  CLI::App& sub = subcommand(app, "plot", "Draw predictions beside the exact Gaussian-process posterior.", c.common);
  sub.add_option("--checkpoint", c.checkpoint, kCheckpointHelp)->required();
  sub.add_option("--out", c.out, "picture to write, .svg or .png")->required();
  sub.add_option("--protocol", c.protocol, "whose tasks to draw, instead of the one it was trained under");
  sub.add_option("--seed", c.seed, "of the tasks")->capture_default_str();
  sub.add_option("--tasks", c.tasks, "rows of the picture, one task each")
      ->check(CLI::Range(1, 8))
      ->capture_default_str();
}

void add_gradcheck(CLI::App& app, GradcheckCommand& c) {
  CLI::App& sub =
      subcommand(app, "gradcheck", "Compare the gradient of every operation with central differences.", c.common);
  sub.add_option("ops", c.ops, "folders under ops/ to check, all of them where none is named");
}

void add_parity(CLI::App& app, ParityCommand& c) {
  CLI::App& sub = subcommand(app, "parity", "Repeat runs recorded from the authors' own code.", c.common);
  sub.add_option("files", c.files, "recorded runs (safetensors)")->required();
}

void add_stream(CLI::App& app, StreamCommand& c) {
  CLI::App& sub = subcommand(
      app, "stream",
      "Predict from a context that is read as it comes, in constant memory; inputs and values are used as they "
      "are.",
      c.common);
  sub.add_option("--checkpoint", c.checkpoint, "the same, of a model that streams")->required();
  sub.add_option("--context", c.context,
                 "CSV of observed points: the columns of --targets, and the values; '-' for standard input")
      ->required();
  sub.add_option("--targets", c.targets, "CSV of points to predict at, '-' for standard input; must fit in memory")
      ->required();
  sub.add_option("--out", c.out, "CSV to write: context_rows, x, mean_* and std_* columns; '-' for standard output")
      ->required();
  sub.add_option("--every", c.every, "context rows between answers, 0 for one answer at the end")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  sub.add_option("--chunk", c.chunk, "rows absorbed, and targets predicted, at a time; bounds the memory")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
}

void add_reproduce(CLI::App& app, ReproduceCommand& c) {
  CLI::App& sub =
      subcommand(app, "reproduce", "Train and evaluate what a published table needs, and print it.", c.common);
  sub.add_option("table", c.table, "protocol (see: npzoo list protocols) or path of a TOML file")->required();
  sub.add_option("--models", c.models, "a list like cnp,tnp-d, instead of all that the table has")
      ->delimiter(',')
      ->allow_extra_args(false);
  sub.add_option("--seeds", c.seeds, "a list like 0,1,2")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  sub.add_option("--out", c.out, "directory of the runs; those begun there are gone on with")->capture_default_str();
  sub.add_option("--results", c.results, "directory of the file that collects results")->capture_default_str();
  CLI::Option* steps = sub.add_option("--steps", c.steps, "updates instead of the protocol's; collects no results")
                           ->check(CLI::PositiveNumber);
  CLI::Option* batches =
      sub.add_option("--batches", c.batches, "batches of evaluation instead of the protocol's; collects no results")
          ->check(CLI::PositiveNumber);
  sub.add_option("--jobs", c.jobs, "runs at once that share the threads, instead of one per thread")
      ->check(CLI::PositiveNumber);
  sub.add_flag("--report", c.report, "run nothing, print what has been collected")->excludes(steps)->excludes(batches);
}

}  // namespace

ParsedOptions parse_options(int argc, const char* const* argv) {
  CLI::App app{"npzoo trains neural processes and predicts with them, on its own autograd engine."};
  app.set_version_flag("--version", std::string("npzoo ") + kVersion);
  app.set_config("--config", "", "TOML file of options, one table per command; the command line wins");
  app.require_subcommand(1);
  app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::Throw);

  ListCommand list;
  DevicesCommand devices;
  TrainCommand train;
  EvalCommand eval;
  ExportCommand export_weights;
  OracleCommand oracle;
  PredictCommand predict;
  PlotCommand plot;
  GradcheckCommand gradcheck;
  ParityCommand parity;
  StreamCommand stream;
  ReproduceCommand reproduce;
  BenchCommands bench;
  CompletionCommand completion;
  add_list(app, list);
  add_devices(app, devices);
  add_train(app, train);
  add_eval(app, eval);
  add_export(app, export_weights);
  add_oracle(app, oracle);
  add_predict(app, predict);
  add_plot(app, plot);
  add_gradcheck(app, gradcheck);
  add_parity(app, parity);
  add_stream(app, stream);
  add_reproduce(app, reproduce);
  add_bench(app, bench);
  app.add_subcommand("completion", "Print the script that completes commands and flags in a shell.")
      ->add_option("shell", completion.shell, "bash, zsh or fish")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    return {.command = {}, .exit_code = app.exit(e) == 0 ? 0 : kWrongUsage};
  }
  const auto chosen = [&](const char* name) { return app.got_subcommand(name); };
  if (chosen("list")) return {.command = list};
  if (chosen("devices")) return {.command = devices};
  if (chosen("train")) return {.command = train};
  if (chosen("eval")) return {.command = eval};
  if (chosen("export")) return {.command = export_weights};
  if (chosen("oracle")) return {.command = oracle};
  if (chosen("predict")) return {.command = predict};
  if (chosen("plot")) return {.command = plot};
  if (chosen("gradcheck")) return {.command = gradcheck};
  if (chosen("parity")) return {.command = parity};
  if (chosen("stream")) return {.command = stream};
  if (chosen("reproduce")) return {.command = reproduce};
  if (chosen("bench")) return {.command = bench.chosen(app)};
  completion.script = completion_script(app, completion.shell);
  return {.command = completion};
}

}  // namespace npzoo
