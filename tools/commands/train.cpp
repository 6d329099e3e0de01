#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <optional>
#include <stop_token>

#include "npzoo/datasets/data_folder.h"
#include "npzoo/datasets/series/series_tasks.h"
#include "npzoo/engine/cancellation.h"
#include "npzoo/models/applications/forecasts/forecast_comparison.h"
#include "npzoo/models/training/run_request.h"
#include "npzoo/models/training/trainer.h"
#include "tools/cli/command.h"
#include "tools/cli/commit.h"
#include "tools/cli/common_options.h"
#include "tools/cli/interrupt.h"
#include "tools/cli/json_value.h"
#include "tools/cli/messages.h"
#include "tools/cli/progress.h"
#include "tools/cli/shared_job.h"
#include "tools/reports/forecast_comparison.h"

namespace npzoo::tools {

namespace {

struct TrainCommand {
  CommonOptions common;
  ProtocolOptions protocol;
  std::string model, init;
  std::string table, group;
  std::vector<std::string> inputs, values;  // columns of the table
  std::string time;                         // the same, of forecasts and of events
  std::string events, sequence, mark;
  std::optional<std::int64_t> context, horizon;
  std::string images, size, data, crop = "centre";
  bool grey = false, skip_damaged = false;
  std::optional<std::int64_t> steps, batch, validation_batches;
  std::optional<double> lr;
  std::optional<std::uint64_t> seed;
  std::filesystem::path out;
  bool resume = false, tensorboard = false;
  std::int64_t checkpoint_every = 0;
  JobOptions job;
};

void add_flags(Flags& flags, TrainCommand& c) {
  add_flags(flags, c.common);
  add_flags(flags, c.protocol, "name (see: npzoo list protocols) or path of a TOML file");
  flags.text("--model", c.model, "name of a model (see: npzoo list models; default with --init: that of the weights)");
  flags.text(
      "--init", c.init,
      "weights to start from instead of random ones: a file of train or export, or a name (see: npzoo list weights)");
  flags.text("--table", c.table,
             "table to train on: tasks are its groups, or windows of them, with values hidden in the shape of its own "
             "gaps; a tenth of the groups is held out for validation and a tenth for eval. Starts from the weights for "
             "tables unless --model is given");
  flags.text("--group", c.group,
             "column of --table that names the group of a row (default: blocks of rows are groups)");
  flags.texts("--inputs", c.inputs, "columns of --table that values depend on, a list like lon,lat");
  flags.texts("--values", c.values, "columns of --table to learn, each by itself");
  flags.text("--time", c.time,
             "column of times of --table, instead of --inputs: tasks are forecasts of --values together. The first 70 "
             "% of the rows are for training, the next tenth for validation. With --events: column of their times");
  flags.whole("--context", c.context, {2, kMostPlaces}, "with --time: steps that a forecast reads");
  flags.whole("--horizon", c.horizon, {1, kMostPlaces}, "with --time: steps that it forecasts");
  flags.text(
      "--events", c.events,
      "table of events to train on, one row an event, whose --time ascends in each sequence. A tenth of the "
      "sequences is held out for validation and a fifth for eval; of fewer than ten sequences the latest events");
  flags.text("--sequence", c.sequence,
             "column of --events that names the sequence of an event (default: all rows are one sequence)");
  flags.text("--mark", c.mark, "column of --events that names the kind of an event (default: all are of one kind)");
  flags.text("--images", c.images,
             "folder, or tar or zip archive, of PNG and JPEG files to train on; a tenth is held out for validation and "
             "a tenth for eval");
  flags.text("--size", c.size, "width and height to resize --images to, such as 32x32");
  flags.choice("--crop", c.crop, {"centre", "none"},
               "part of each picture to use: the largest centred part of the right shape, or all of it, stretched");
  flags.toggle("--grey", c.grey, "convert --images to grey");
  flags.toggle("--skip-damaged", c.skip_damaged, "leave out files of --images that cannot be read, and name them");
  add_data(flags, c.data);
  flags.text("--out", c.out, "directory for checkpoint, metrics and resolved configuration").required();
  flags.whole("--steps", c.steps, {1},
              "number of updates (default: the protocol's); fewer also shorten the warm-up of the learning rate");
  flags.whole("--batch", c.batch, {1}, "tasks per update (default: the protocol's)");
  flags.whole("--validation-batches", c.validation_batches, {1, kMostScoredBatches},
              "batches of a validation (default: the protocol's; fewer if the training has fewer steps than that)");
  flags.positive("--lr", c.lr, "peak learning rate (default: the protocol's)");
  flags.seed("--seed", c.seed, "seed of initial weights and data");
  flags.toggle("--resume", c.resume, "continue from the checkpoint in --out; other flags may be omitted");
  flags.toggle("--tensorboard", c.tensorboard, "write an event file for TensorBoard into --out as well");
  flags.check_together([&c] {
    const int own = !c.table.empty() + !c.events.empty() + !c.images.empty();
    check(c.resume || own > 0 || (!c.protocol.name.empty() && (!c.model.empty() || !c.init.empty())),
          "--protocol and --model (or --table, --events, --images or --resume) is required");
    check(own <= 1, "--table, --events and --images exclude each other, expected one of them");
    check(c.events.empty() ? c.sequence.empty() && c.mark.empty() : !c.time.empty(),
          "--events and --time belong together, and --sequence and --mark to them, expected --events and --time");
    check(c.images.empty() == c.size.empty() && (!c.images.empty() || (!c.grey && !c.skip_damaged)),
          "--images and --size belong together, and --grey and --skip-damaged to them, expected both");
    const bool forecasts = !c.time.empty() && c.events.empty();
    check(forecasts == c.context.has_value() && forecasts == c.horizon.has_value() && (!forecasts || !c.table.empty()),
          "--table, --time, --context and --horizon belong together, expected all or none");
    check(c.time.empty() || (c.inputs.empty() && c.group.empty()),
          "--time excludes --inputs and --group, expected --time alone");
    check(c.table.empty() == (c.inputs.empty() && !forecasts) && c.table.empty() == c.values.empty() &&
              (!c.table.empty() || c.group.empty()),
          "--table, --inputs and --values belong together, and --group to them, expected all or none");
  });
  flags.whole("--checkpoint-every", c.checkpoint_every, {0}, "steps between checkpoints, 0 for every half minute");
  add_flags(flags, c.job);
}

/// With width and height from --size: width, x, height.
OwnPictures pictures_of(const TrainCommand& c) {
  OwnPictures own{.path = c.images, .stretched = c.crop != "centre", .grey = c.grey, .skip_damaged = c.skip_damaged};
  const auto x = c.size.find('x');
  const char* end = c.size.data() + c.size.size();
  const auto width = std::from_chars(c.size.data(), end, own.width);
  const bool split = x != c.size.npos && width.ptr == c.size.data() + x;
  const auto height = split ? std::from_chars(width.ptr + 1, end, own.height) : width;
  check(split && height.ec == std::errc() && height.ptr == end && std::min(own.width, own.height) >= 2 &&
            std::max(own.width, own.height) <= 4096,
        "[train] --size {} found, expected width and height from 2 to 4096, as 32x32", c.size);
  return own;
}

std::optional<OwnData> own_data(const TrainCommand& c) {
  if (!c.events.empty()) return OwnData{OwnEvents{c.events, c.sequence, c.time, c.mark}};
  if (!c.time.empty()) return OwnData{OwnSeries{c.table, c.time, c.values, *c.context, *c.horizon}};
  if (!c.table.empty()) return OwnData{OwnTable{c.table, c.group, c.inputs, c.values}};
  if (!c.images.empty()) return OwnData{pictures_of(c)};
  return {};
}

TrainingRun describe(const TrainCommand& c) {
  const RunRequest request{.own = own_data(c),
                           .protocol = c.protocol.name,
                           .changes = c.protocol.changes,
                           .model = c.model,
                           .init = c.init,
                           .steps = c.steps,
                           .batch_size = c.batch,
                           .validation_batches = c.validation_batches,
                           .lr = c.lr,
                           .seed = c.seed};
  if (!request.own && !c.protocol.given() && c.model.empty() && c.init.empty()) {
    const std::filesystem::path checkpoint = c.out / "checkpoint.safetensors";
    std::error_code error;
    check(std::filesystem::exists(checkpoint, error),
          "[train] {} holds no run to resume, expected the --out of an earlier npzoo train; a new run needs --protocol "
          "and --model",
          c.out.string());
    return begun_run(checkpoint, request);
  }
  check(request.own || (!c.protocol.name.empty() && (!c.model.empty() || !c.init.empty())),
        "[train] found --resume with some of --protocol, --model, --init and --set, expected none of them, or --protocol with "
        "--model or --init");
  DescribedRun described = describe_run(request);
  for (const std::string& message : described.skipped) fmt::print(stderr, "npzoo: warning: skipped: {}\n", message);
  return std::move(described.run);
}

class TerminalObserver final : public TrainObserver {
 public:
  TerminalObserver(const TrainingRun& run, std::filesystem::path out) : run_(run), out_(std::move(out)) {}

  void on_begin(std::int64_t steps_done) override {
    write_run_config(run_, out_, steps_done);
    progress_.emplace("train " + run_.spec.name, run_.protocol.training.steps, Progress::Options{.start = steps_done});
  }
  void on_step(std::int64_t step, double loss) override {
    mean_loss_ += (loss - mean_loss_) * std::max(0.02, 1.0 / static_cast<double>(++seen_));
    progress_->update(step, mean_loss_);
  }
  void on_validation_progress(std::int64_t done, std::int64_t batches) override {
    if (done == 0) {
      progress_->pause();
      validation_began_ = Clock::now();
      validation_.emplace("validate", batches, Progress::Options{.unit = "batches", .passing = true});
    }
    validation_->update(done);
  }
  void on_validation(std::int64_t step, double log_likelihood) override {
    end_validation();
    const double seconds = std::chrono::duration<double>(Clock::now() - validation_began_).count();
    progress_->expect_beside(seconds * static_cast<double>(validations_after(step)));
    progress_->note(fmt::format("validation {:.4f}", log_likelihood));
    progress_->message(fmt::format("step {}: validation log-likelihood {:.4f}", step, log_likelihood));
  }
  bool stop_requested() override { return interrupt_.requested(); }
  bool checkpoint_requested() override { return checkpoint_.take(); }
  void finish() {
    end_validation();
    if (progress_) progress_->finish();
  }

  std::stop_token stop() const { return interrupt_.token(); }

 private:
  using Clock = std::chrono::steady_clock;

  std::int64_t validations_after(std::int64_t step) const {
    const std::int64_t every = run_.protocol.validation.every, steps = run_.protocol.training.steps;
    if (every <= 0 || step >= steps) return 0;
    return steps / every - step / every + (steps % every != 0);
  }
  void end_validation() {
    if (!validation_) return;
    validation_.reset();
    progress_->resume();
  }

  InterruptGuard interrupt_;
  CheckpointSignal checkpoint_;
  const TrainingRun& run_;
  std::filesystem::path out_;
  std::optional<Progress> progress_, validation_;
  Clock::time_point validation_began_{};
  double mean_loss_ = 0;  // over about the last fifty steps
  std::int64_t seen_ = 0;
};

/// Compares the weights of a user's own series with forecasts without training. None for other data.
std::optional<ForecastComparison> compare(const TrainingRun& run, const TrainResult& result, std::stop_token stop) {
  const SeriesTasks* series = run.protocol.data->as_series();
  if (series == nullptr || series->time_column().empty() || !result.finished) return {};
  const Progress progress("compare forecasts", 0);
  try {
    return compare_forecasts(load_model(result.checkpoint.string()), {.stop = std::move(stop)});
  } catch (const Interrupted&) {
    throw;
  } catch (const Error& error) {  // the weights are trained: without those for tables there is no comparison
    fmt::print(stderr, "npzoo: warning: forecasts without training are not compared: {}\n", one_line(error.what()));
    return {};
  }
}

void report(const TrainingRun& run, const TrainResult& result, const std::optional<ForecastComparison>& comparison,
            const Job& job, bool as_json) {
  if (as_json) {
    JsonValue json = JsonValue::object({{"steps", result.steps},
                                        {"loss", result.loss},
                                        {"log_likelihood", result.log_likelihood},
                                        {"seconds", result.seconds},
                                        {"clamped_denominators", result.events.clamped_denominators},
                                        {"checkpoint", result.checkpoint.string()}});
    if (result.finished) json.set("best_step", result.best_step);
    if (comparison) json.set("forecasts", tools::to_json(*comparison));
    if (job.size() > 1) json.set("seconds_in_gathers", job.seconds_in_gathers());
    return print_json(json);
  }
  fmt::print("steps           {}\nloss            {:.4f}\n", result.steps, result.loss);
  if (result.finished)
    fmt::print("log-likelihood  {:.4f}  (validation, nats per target point)\n", result.log_likelihood);
  if (result.finished && result.best_step < result.steps)
    fmt::print("weights kept    those {}\n",
               result.best_step == 0 ? "that the training began with" : fmt::format("of step {}", result.best_step));
  if (job.size() > 1)
    fmt::print("ranks           {}, {:.0f} % of the time spent in gathers\n", job.size(),
               100 * job.seconds_in_gathers() / result.seconds);
  fmt::print("seconds         {:.1f}\ncheckpoint      {}\n", result.seconds, result.checkpoint.string());
  if (comparison)
    tools::print(*comparison, {run.protocol.data->as_series()->time_column(), run.protocol.data->as_series()->values()});
  warn_of(result.events);
}

int interrupted(const TrainCommand& c) {
  fmt::print(stderr, "interrupted; to continue, run npzoo train --resume --out {}\n", c.out.string());
  return kInterruptedExit;
}

int train_as_rank(const TrainCommand& c, Job& job) {
  apply(c.common);
  set_data_folder(c.data);
  const TrainingRun run = describe(c);
  TerminalObserver observer(run, c.out);
  try {
    const TrainResult result = train(run,
                                     {.out = c.out,
                                      .checkpoint_every = c.checkpoint_every,
                                      .resume = c.resume,
                                      .commit = kCommit,
                                      .tensorboard = c.tensorboard,
                                      .job = &job},
                                     observer);
    observer.finish();
    std::optional<ForecastComparison> comparison;
    if (job.leads()) comparison = compare(run, result, observer.stop());
    report(run, result, comparison, job, c.common.json);
    return result.finished ? 0 : interrupted(c);
  } catch (const Interrupted&) {  // a signal reached another rank first
    observer.finish();
    return interrupted(c);
  }
}

int run(const TrainCommand& c) {
  SharedJob job(c.job);
  return job.run([&](Job& ranks) { return train_as_rank(c, ranks); });
}

}  // namespace

extern const CommandInfo train_command = command<TrainCommand, add_flags, run>(
    "Train a model under a protocol.", CommandGroup::train,
    "npzoo train --protocol quick/gp1d --model tnp-d --steps 300 --out run", Processes::several);

}  // namespace npzoo::tools
