#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <limits>

#include "npzoo/datasets/data_folder.h"
#include "npzoo/datasets/kinds/forecast/own_table.h"
#include "npzoo/datasets/kinds/forecast/source.h"
#include "npzoo/datasets/kinds/images/folder.h"
#include "npzoo/datasets/kinds/table_tasks/config.h"
#include "npzoo/engine/io/file.h"
#include "npzoo/models/registry.h"
#include "npzoo/models/training/named_weights.h"
#include "npzoo/models/training/pretrained.h"
#include "npzoo/models/training/run_directory.h"
#include "npzoo/models/training/trainer.h"
#include "npzoo/ops/kriging/kriging.h"
#include "tools/cli/command.h"
#include "tools/cli/commit.h"
#include "tools/cli/common_options.h"
#include "tools/cli/config_file.h"
#include "tools/cli/interrupt.h"
#include "tools/cli/json_value.h"
#include "tools/cli/messages.h"
#include "tools/cli/progress.h"

namespace npzoo {

namespace {

/// Of a training on data of the user's own that names neither model nor weights, where there are none for such data.
constexpr const char* kOwnDataModel = "tnp-d";

struct TrainCommand {
  CommonOptions common;
  ProtocolOptions protocol;
  std::string model, init;
  std::string table, group;
  std::vector<std::string> inputs, values;  // columns of the table
  std::string time;                         // the same, of forecasts
  std::optional<std::int64_t> context, horizon;
  std::string images, size, data, crop = "centre";
  bool grey = false, skip_damaged = false;
  std::optional<std::int64_t> steps, batch, validation_batches;
  std::optional<double> lr;
  std::optional<std::uint64_t> seed;
  std::filesystem::path out;
  bool resume = false, tensorboard = false;
  std::int64_t checkpoint_every = 0;
};

void add_flags(Flags& flags, TrainCommand& c) {
  add_flags(flags, c.common);
  add_flags(flags, c.protocol, "name (see: npzoo list protocols) or path of a TOML file");
  flags.text("--model", c.model, "name (see: npzoo list models); with --init that of the weights where left out");
  flags.text("--init", c.init,
             "weights to begin with instead of random ones, a file that train or export wrote or a name (see: npzoo "
             "list weights)");
  flags.text(
      "--table", c.table,
      "table of measurements to train on: tasks are its groups, or windows of them, under masks shaped like its own "
      "holes; a tenth of the groups is held out for validation and a tenth for eval. Begins with the zoo's weights for "
      "tables unless --model is given");
  flags.text("--group", c.group, "column of --table whose values are the groups; blocks of rows where there is none");
  flags.texts("--inputs", c.inputs, "columns of --table that values depend on, a list like lon,lat");
  flags.texts("--values", c.values, "columns of --table to learn, each by itself");
  flags.text("--time", c.time,
             "instead of --inputs: the column of dates or numbers that rows of --table follow each other by; tasks are "
             "to forecast --values together, of the first 70 % of the rows, and a tenth is for validation");
  flags.whole("--context", c.context, {2, kMostPlaces}, "steps that a forecast of --table by --time is made from");
  flags.whole("--horizon", c.horizon, {1, kMostPlaces}, "steps that it reaches ahead");
  flags.text("--images", c.images,
             "folder, or tar or zip archive, of PNG and JPEG files to train on; a tenth is held out for validation and "
             "a tenth "
             "for eval");
  flags.text("--size", c.size, "width and height that --images are brought to, as 32x32");
  flags.choice("--crop", c.crop, {"centre", "none"},
               "what of a picture of --images is shown: its largest centred part of the right shape, or all of it, "
               "stretched");
  flags.toggle("--grey", c.grey, "show --images to the model without colours");
  flags.toggle("--skip-damaged", c.skip_damaged, "leave out files of --images that cannot be read, and name them");
  add_data(flags, c.data);
  flags.text("--out", c.out, "directory for checkpoint, metrics and resolved configuration").required();
  flags.whole("--steps", c.steps, {1},
              "number of updates (default: the protocol's); fewer shorten the warm-up of the learning rate as well");
  flags.whole("--batch", c.batch, {1}, "tasks per update (default: the protocol's)");
  flags.whole("--validation-batches", c.validation_batches, {1, kMostScoredBatches},
              "batches of a validation (default: the protocol's; fewer if the training has fewer steps than that)");
  flags.positive("--lr", c.lr, "peak learning rate (default: the protocol's)");
  flags.seed("--seed", c.seed, "of initial weights and data");
  flags.toggle("--resume", c.resume, "go on from the checkpoint in --out; the other flags may then be left out");
  flags.toggle("--tensorboard", c.tensorboard, "write an event file for TensorBoard into --out as well");
  flags.check_together([&c] {
    check(c.resume || !c.table.empty() || !c.images.empty() ||
              (!c.protocol.name.empty() && (!c.model.empty() || !c.init.empty())),
          "--protocol and --model (or --table, --images or --resume) is required");
    check(c.table.empty() || c.images.empty(), "--table and --images exclude each other, expected one of them");
    check(c.images.empty() == c.size.empty() && (!c.images.empty() || (!c.grey && !c.skip_damaged)),
          "--images and --size belong together, and --grey and --skip-damaged to them, expected both");
    check(c.time.empty() == !c.context && c.time.empty() == !c.horizon && (c.time.empty() || !c.table.empty()),
          "--table, --time, --context and --horizon belong together, expected all or none");
    check(c.time.empty() || (c.inputs.empty() && c.group.empty()),
          "--time excludes --inputs and --group, expected --time alone");
    check(c.table.empty() == (c.inputs.empty() && c.time.empty()) && c.table.empty() == c.values.empty() &&
              (!c.table.empty() || c.group.empty()),
          "--table, --inputs and --values belong together, and --group to them, expected all or none");
  });
  flags.whole("--checkpoint-every", c.checkpoint_every, {0}, "steps between checkpoints, 0 for every half minute");
}

/// Those that any table may begin with; none where this zoo has none.
std::string weights_for_tables(std::int64_t inputs) {
  const std::string protocol = fmt::format(":npzoo/any-{}d", inputs);
  for (const NamedWeights& weights : named_weights())
    if (weights.name.ends_with(protocol)) return weights.name;
  return {};
}

/// Of the table, with the presets and, where one is named, the training of another protocol.
Protocol table_protocol(const TrainCommand& c) {
  const TableTasks tasks = describe_table(c.table, c.group, c.inputs, c.values);
  const std::string base = !c.protocol.name.empty()   ? c.protocol.name
                           : tasks.inputs.size() == 1 ? "npzoo/any-1d"
                                                      : "npzoo/any-2d";
  const std::string name = std::filesystem::path(c.table).filename().string();
  const std::string text = table_protocol(tasks, load_protocol(base).text, name, c.protocol.name.empty());
  return with_changes(parse_protocol(text, name), c.protocol.changes);
}

/// Of forecasts of the table, in the same way.
Protocol forecast_protocol(const TrainCommand& c) {
  const OwnForecast own{c.table, c.time, c.values, *c.context, *c.horizon};
  const std::string base = c.protocol.name.empty() ? "taylorformer/exchange" : c.protocol.name;
  const std::string name = std::filesystem::path(c.table).filename().string();
  const std::string text = forecast_protocol(own, load_protocol(base).text, name, c.protocol.name.empty());
  return with_changes(parse_protocol(text, name), c.protocol.changes);
}

/// As --size has it: width, x, height.
ImageChoice choice_of(const TrainCommand& c) {
  ImageChoice choice;
  const auto x = c.size.find('x');
  const char* end = c.size.data() + c.size.size();
  const auto width = std::from_chars(c.size.data(), end, choice.width);
  const bool split = x != c.size.npos && width.ptr == c.size.data() + x;
  const auto height = split ? std::from_chars(width.ptr + 1, end, choice.height) : width;
  check(split && height.ec == std::errc() && height.ptr == end && std::min(choice.width, choice.height) >= 2 &&
            std::max(choice.width, choice.height) <= 4096,
        "[train] --size {} found, expected width and height from 2 to 4096, as 32x32", c.size);
  choice.crop = c.crop == "centre" ? Crop::centre : Crop::none;
  return choice;
}

/// Of the images, with the presets and, where one is named, the training of another protocol.
Protocol image_protocol(const TrainCommand& c) {
  const ImageFolder folder{.path = absolute_path(c.images).lexically_normal().string(),
                           .choice = choice_of(c),
                           .channels = c.grey ? 1 : 3,
                           .skip_damaged = c.skip_damaged};
  for (const std::string& message : read_image_folder(folder)->skipped)
    fmt::print(stderr, "npzoo: warning: skipped: {}\n", message);
  const std::string base = !c.protocol.name.empty() ? c.protocol.name : c.grey ? "tnp/emnist" : "tnp/celeba32";
  const std::string name = std::filesystem::path(folder.path).filename().string();
  const std::string text = image_protocol(folder, load_protocol(base).text, name, c.protocol.name.empty());
  return with_changes(parse_protocol(text, name), c.protocol.changes);
}

Protocol protocol_of(const TrainCommand& c) {
  if (!c.time.empty()) return forecast_protocol(c);
  if (!c.table.empty()) return table_protocol(c);
  return c.images.empty() ? load_protocol(c.protocol) : image_protocol(c);
}

/// Puts the flags that change a run's length, batches, learning rate or seed into the run.
void change_length(const TrainCommand& c, TrainingRun& run) {
  TrainingConfig& training = run.protocol.training;
  ValidationConfig& validation = run.protocol.validation;
  if (c.steps) set_steps(run.protocol, *c.steps);
  validation.batches = c.validation_batches.value_or(validation.batches);
  training.batch_size = c.batch.value_or(training.batch_size);
  training.optimiser.lr = c.lr.value_or(training.optimiser.lr);
  run.seed = c.seed.value_or(run.seed);
}

TrainingRun describe(const TrainCommand& c) {
  const bool on_table = !c.table.empty(), on_own_data = on_table || !c.images.empty();
  if (!on_own_data && !c.protocol.given() && c.model.empty() && c.init.empty()) {
    const std::filesystem::path checkpoint = c.out / "checkpoint.safetensors";
    std::error_code error;
    check(std::filesystem::exists(checkpoint, error),
          "[train] {} holds no run to resume, expected the --out of an earlier npzoo train; a new run needs --protocol "
          "and "
          "--model",
          c.out.string());
    const TrainingRun begun = load_checkpoint(checkpoint).run;
    TrainingRun asked = begun;
    change_length(c, asked);
    check_same_run(asked, begun, checkpoint.string());
    return begun;
  }
  check(on_own_data || (!c.protocol.name.empty() && (!c.model.empty() || !c.init.empty())),
        "[train] --protocol and --model must be given together");
  TrainingRun run;
  run.protocol = protocol_of(c);
  std::string model = c.model, init = c.init;
  if (on_table && model.empty() && init.empty() && run.protocol.data->dim_y() == 1)
    init = weights_for_tables(run.protocol.data->dim_x());
  if (model.empty() && init.empty()) model = kOwnDataModel;
  if (!model.empty()) run.spec = model_spec(run.protocol, model);
  if (!init.empty()) begin_with(run, init);
  change_length(c, run);
  return run;
}

bool is_compiled_in(const Protocol& protocol) {
  return std::ranges::count(protocol_names(), protocol.name) == 1 && load_protocol(protocol.name).text == protocol.text;
}

void write_text(const std::filesystem::path& path, const std::string& text) {
  AtomicFile file(path);
  file.write(text);
  file.commit();
}

/// The run as a file that `npzoo train --config` repeats. A protocol of the user's own, and the weights that it begins
/// with, are written beside it, after it: by the former the directory is known for a run's.
void write_config(const TrainingRun& run, const std::filesystem::path& out, std::int64_t steps_done) {
  const bool own_protocol = !is_compiled_in(run.protocol);
  const std::filesystem::path folder = absolute_path(out), copy = folder / "protocol.toml",
                              initial = folder / "initial.safetensors";
  const TrainingConfig& training = run.protocol.training;
  std::string what = fmt::format("protocol = {}\n", toml_string(own_protocol ? copy.string() : run.protocol.name));
  if (!run.init || is_preset(run)) what += fmt::format("model = \"{}\"\n", run.spec.name);
  if (run.init) what += fmt::format("init = {}\n", toml_string(initial.string()));
  write_text(out / "config.toml",
             fmt::format("{}[train]\n{}steps = {}\nbatch = {}\nlr = {}\nseed = {}\nvalidation-batches = {}\n",
                         kRunConfigHeader, what, training.steps, training.batch_size, training.optimiser.lr, run.seed,
                         run.protocol.validation.batches));
  if (own_protocol) write_text(copy, run.protocol.text);
  if (run.init && steps_done == 0)
    write_text(initial, read_text(find_weights(run.init->source), std::numeric_limits<std::size_t>::max()));
}

class TerminalObserver final : public TrainObserver {
 public:
  TerminalObserver(const TrainingRun& run, std::filesystem::path out) : run_(run), out_(std::move(out)) {}

  void on_begin(std::int64_t steps_done) override {
    write_config(run_, out_, steps_done);
    progress_.emplace("train " + run_.spec.name, run_.protocol.training.steps, Progress::Options{.start = steps_done});
  }
  void on_step(std::int64_t step, double loss) override {
    mean_loss_ += (loss - mean_loss_) * std::max(0.02, 1.0 / static_cast<double>(++seen_));
    progress_->update(step, mean_loss_);
  }
  void on_validation_progress(std::int64_t done, std::int64_t batches) override {
    if (done == 0) {
      progress_->pause();
      validation_.emplace("validate", batches, Progress::Options{.unit = "batches", .passing = true});
    }
    validation_->update(done);
  }
  void on_validation(std::int64_t step, double log_likelihood) override {
    end_validation();
    progress_->note(fmt::format("validation {:.4f}", log_likelihood));
    progress_->message(fmt::format("step {}: validation log-likelihood {:.4f}", step, log_likelihood));
  }
  bool stop_requested() override { return interrupt_.requested(); }
  void finish() {
    end_validation();
    progress_->finish();
  }

 private:
  void end_validation() {
    if (!validation_) return;
    validation_.reset();
    progress_->resume();
  }

  InterruptGuard interrupt_;
  const TrainingRun& run_;
  std::filesystem::path out_;
  std::optional<Progress> progress_, validation_;
  double mean_loss_ = 0;  // over about the last fifty steps
  std::int64_t seen_ = 0;
};

void report(const TrainResult& result, bool as_json) {
  if (as_json)
    return print_json(JsonValue::object({{"steps", result.steps},
                                         {"loss", result.loss},
                                         {"log_likelihood", result.log_likelihood},
                                         {"seconds", result.seconds},
                                         {"clamped_denominators", result.clamped_denominators},
                                         {"checkpoint", result.checkpoint.string()}}));
  fmt::print("steps           {}\nloss            {:.4f}\n", result.steps, result.loss);
  if (result.finished)
    fmt::print("log-likelihood  {:.4f}  (validation, nats per target point)\n", result.log_likelihood);
  fmt::print("seconds         {:.1f}\ncheckpoint      {}\n", result.seconds, result.checkpoint.string());
  warn_of_clamped_denominators(result.clamped_denominators);
  warn_of_failed_factorisations(failed_factorisations());
}

int run(const TrainCommand& c) {
  apply(c.common);
  set_data_folder(c.data);
  const TrainingRun run = describe(c);
  TerminalObserver observer(run, c.out);
  const TrainResult result = train(run,
                                   {.out = c.out,
                                    .checkpoint_every = c.checkpoint_every,
                                    .resume = c.resume,
                                    .commit = kCommit,
                                    .tensorboard = c.tensorboard},
                                   observer);
  observer.finish();
  report(result, c.common.json);
  if (!result.finished)
    fmt::print(stderr, "interrupted; to continue, run npzoo train --resume --out {}\n", c.out.string());
  return result.finished ? 0 : kInterruptedExit;
}

}  // namespace

extern const CommandInfo train_command = command<TrainCommand, add_flags, run>("Train a model under a protocol.");

}  // namespace npzoo
