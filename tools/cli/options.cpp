#include "tools/cli/options.h"

#include <fmt/core.h>

#include <CLI/CLI.hpp>

#include "engine/config.h"
#include "engine/error.h"
#include "engine/io/safetensors_header.h"
#include "tools/cli/commands.h"
#include "tools/cli/completion.h"
#include "tools/cli/config_file.h"
#include "tools/cli/flags.h"
#include "tools/cli/options_support.h"
#include "tools/cli/usage.h"

namespace npzoo {

namespace {

constexpr int kWrongUsage = 2;
constexpr char kCheckpointHelp[] = "file that train or export wrote, or a name (see: npzoo list weights)";

void add_list_command(CLI::App& app, ListCommand& c) {
  CLI::App& sub = subcommand(app, "list", "List models, trained weights, protocols or operations.", c.common);
  add_choice(sub, "what", c.what, {"models", "weights", "protocols", "ops"}, "models, weights, protocols or ops");
}

void add_devices(CLI::App& app, DevicesCommand& c) {
  subcommand(app, "devices", "List what --device can name on this machine.", c.common);
}

void add_train(CLI::App& app, TrainCommand& c) {
  CLI::App& sub = subcommand(app, "train", "Train a model under a protocol.", c.common);
  add_text(sub, "--protocol", c.protocol, "name (see: npzoo list protocols) or path of a TOML file");
  add_text(sub, "--model", c.model, "name (see: npzoo list models)");
  add_text(sub, "--out", c.out, "directory for checkpoint, metrics and resolved configuration")->required();
  add_whole(sub, "--steps", c.steps, {1}, "number of updates instead of the protocol's");
  add_whole(sub, "--batch", c.batch, {1}, "tasks per update instead of the protocol's");
  add_whole(sub, "--validation-batches", c.validation_batches, {1},
            "in a validation, instead of the protocol's; a training of fewer steps takes fewer by itself");
  add_positive(sub, "--lr", c.lr, "peak learning rate instead of the protocol's");
  add_seed(sub, "--seed", c.seed, "of initial weights and data");
  add_switch(sub, "--resume", c.resume, "go on from the checkpoint in --out; the other flags may then be left out");
  sub.callback([&c] {
    if (!c.resume && (c.protocol.empty() || c.model.empty()))
      throw CLI::RequiredError("--protocol and --model (or --resume)");
  });
  add_whole(sub, "--checkpoint-every", c.checkpoint_every, {0}, "steps between checkpoints, 0 for every half minute");
}

void add_eval(CLI::App& app, EvalCommand& c) {
  CLI::App& sub = subcommand(app, "eval", "Score a checkpoint on the test distributions of a protocol.", c.common);
  add_text(sub, "--checkpoint", c.checkpoint, kCheckpointHelp)->required();
  add_text(sub, "--protocol", c.protocol, "instead of the one it was trained under");
  add_whole(sub, "--batches", c.batches, {1}, "instead of the protocol's");
  add_seed(sub, "--seed", c.seed, "of the test tasks, instead of the protocol's");
}

void add_export(CLI::App& app, ExportCommand& c) {
  CLI::App& sub =
      subcommand(app, "export", "Write the weights of a checkpoint as a small file to give away.", c.common);
  add_text(sub, "--checkpoint", c.checkpoint, "file that train wrote")->required();
  add_text(sub, "--evaluation", c.evaluation,
           "what eval --json told of it; evaluation.json, which eval and reproduce leave beside the checkpoint, where "
           "not given");
  add_switch(sub, "--unfinished", c.unfinished, "export a training that has not come to its end");
  add_text(sub, "--out", c.out, "safetensors file to write, '-' for standard output")->required();
}

void add_oracle(CLI::App& app, OracleCommand& c) {
  CLI::App& sub = subcommand(app, "oracle", "Compute the best values that are possible under a protocol.", c.common);
  add_text(sub, "protocol", c.protocol, "name (see: npzoo list protocols) or path of a TOML file")->required();
  add_texts(sub, "--tests", c.tests, "names of test distributions, a list like rbf,matern52; all of them if left out");
  add_whole(sub, "--tasks", c.tasks, {1},
            "for how many the hyper-parameters are integrated out; known ones cost little");
  add_seed(sub, "--seed", c.seed, "of the tasks, instead of the protocol's");
  add_whole(sub, "--nodes", c.nodes, {4, 32}, "of the quadrature, along each side of a cell");
}

void add_predict(CLI::App& app, PredictCommand& c) {
  CLI::App& sub = subcommand(app, "predict", "Predict at the points of a table, given observed points.", c.common);
  add_text(sub, "--checkpoint", c.checkpoint, kCheckpointHelp)->required();
  add_text(sub, "--context", c.context, "CSV of observed points: the columns of --targets, and the values")->required();
  add_text(sub, "--targets", c.targets, "CSV of points to predict at, '-' for standard input")->required();
  add_text(sub, "--out", c.out, "CSV to write: x, mean_* and std_* columns; '-' for standard output")->required();
  add_text(sub, "--plot", c.plot, "picture to write as well, .svg or .png; for one input and at most 100000 targets");
  add_switch(sub, "--no-standardise", c.as_is,
             "use inputs and values as they are, instead of mapping those of the context to the range and the "
             "standard deviation of training");
  add_whole(sub, "--chunk", c.chunk, {1}, "targets predicted at a time; bounds the memory");
}

void add_plot(CLI::App& app, PlotCommand& c) {
  CLI::App& sub = subcommand(app, "plot", "Draw predictions beside the exact Gaussian-process posterior.", c.common);
  add_text(sub, "--checkpoint", c.checkpoint, kCheckpointHelp)->required();
  add_text(sub, "--out", c.out, "picture to write, .svg or .png")->required();
  add_text(sub, "--protocol", c.protocol, "whose tasks to draw, instead of the one it was trained under");
  add_seed(sub, "--seed", c.seed, "of the tasks");
  add_whole(sub, "--tasks", c.tasks, {1, 8}, "rows of the picture, one task each");
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
  add_text(sub, "--checkpoint", c.checkpoint, "the same, of a model that streams")->required();
  add_text(sub, "--context", c.context,
           "CSV of observed points: the columns of --targets, and the values; '-' for standard input")
      ->required();
  add_text(sub, "--targets", c.targets, "CSV of points to predict at, '-' for standard input; must fit in memory")
      ->required();
  add_text(sub, "--out", c.out, "CSV to write: context_rows, x, mean_* and std_* columns; '-' for standard output")
      ->required();
  add_whole(sub, "--every", c.every, {0}, "context rows between answers, 0 for one answer at the end");
  add_whole(sub, "--chunk", c.chunk, {1}, "rows absorbed, and targets predicted, at a time; bounds the memory");
}

void add_reproduce(CLI::App& app, ReproduceCommand& c) {
  CLI::App& sub =
      subcommand(app, "reproduce", "Train and evaluate what a published table needs, and print it.", c.common);
  add_text(sub, "table", c.table, "protocol (see: npzoo list protocols) or path of a TOML file")->required();
  add_texts(sub, "--models", c.models, "a list like cnp,tnp-d, instead of all that the table has");
  add_wholes(sub, "--seeds", c.seeds, {0, kLargestSeed}, "a list like 0,1,2");
  add_text(sub, "--out", c.out, "directory of the runs; those begun there are gone on with");
  add_text(sub, "--results", c.results, "directory of the file that collects results");
  CLI::Option* steps =
      add_whole(sub, "--steps", c.steps, {1}, "updates instead of the protocol's; collects no results");
  CLI::Option* batches = add_whole(sub, "--batches", c.batches, {1},
                                   "batches of evaluation instead of the protocol's; collects no results");
  add_whole(sub, "--jobs", c.jobs, {1}, "runs at once that share the threads, instead of one per thread");
  add_switch(sub, "--report", c.report, "run nothing, print what has been collected")
      ->excludes(steps)
      ->excludes(batches);
}

/// Prints the help of the command that `words` name.
void print_help(const CLI::App& app, const std::vector<std::string>& words) {
  const CLI::App* at = &app;
  std::string before;
  for (const std::string& word : words) {
    const std::vector<std::string> known = command_names(*at);
    if (std::ranges::find(known, word) == known.end())
      throw CLI::ValidationError(fmt::format("there is no command {}{}", excerpt(word), expected_words(word, known)));
    before += (before.empty() ? "" : " ") + at->get_name();
    at = at->get_subcommand(word);
  }
  fmt::print("{}", words.empty() ? at->get_formatter()->make_help(at, at->get_name(), CLI::AppFormatMode::Normal)
                                 : at->help(before));
}

}  // namespace

ParsedOptions parse_options(int argc, const char* const* argv) {
  CLI::App app{"npzoo trains neural processes and predicts with them, on its own autograd engine.", "npzoo"};
  const std::string version = std::string("npzoo ") + kVersion;
  app.set_version_flag("--version", version);
  const auto read_config = [&app](const std::string& path) { apply_config(app, parse_text(path)); };
  add_value(app, "--config", "TOML file of options, one table per command; the command line wins",
            {.type = FlagType::text, .set = read_config})
      ->configurable(false);
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
  add_list_command(app, list);
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
  add_choice(*app.add_subcommand("completion", "Print the script that completes commands and flags in a shell."),
             "shell", completion.shell, {"bash", "zsh", "fish"}, "bash, zsh or fish")
      ->required();
  std::vector<std::string> asked;
  app.add_subcommand("help", "Tell what a command does and takes.")
      ->add_option("command", asked, "its name; all commands where left out");
  app.add_subcommand("version", "Print the version.");

  try {
    check_values_given(argc, argv);
    app.parse(argc, argv);
    if (app.got_subcommand("help")) print_help(app, asked);
  } catch (const CLI::Success& e) {
    return {.command = {}, .exit_code = app.exit(e)};
  } catch (const CLI::ParseError& e) {
    print_error(usage_error(app, e));
    return {.command = {}, .exit_code = kWrongUsage};
  } catch (const Error& e) {  // of --config
    print_error(e.what());
    return {.command = {}, .exit_code = kWrongUsage};
  }
  if (app.got_subcommand("help")) return {};
  if (app.got_subcommand("version")) {
    fmt::print("{}\n", version);
    return {};
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
