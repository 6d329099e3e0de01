#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <set>

#include "datasets/tables/points.h"
#include "datasets/tables/prediction_rows.h"
#include "engine/tape.h"
#include "models/registry.h"
#include "models/training/checkpoint.h"
#include "models/training/named_weights.h"
#include "tools/cli/command.h"
#include "tools/cli/common_options.h"
#include "tools/cli/interrupt.h"
#include "tools/cli/json_value.h"
#include "tools/cli/messages.h"
#include "tools/cli/outputs.h"
#include "tools/cli/presets.h"
#include "tools/cli/progress.h"
#include "tools/commands/prediction_report.h"

namespace npzoo {

namespace {

struct StreamCommand {
  CommonOptions common;
  std::string checkpoint;
  std::filesystem::path context, targets, out;
  std::int64_t every = 0;  // context rows between answers, 0: one answer at the end
  std::int64_t chunk = 4096;
};

void add_flags(Flags& flags, StreamCommand& c) {
  add_flags(flags, c.common);
  flags.text("--checkpoint", c.checkpoint, "the same, of a model that streams").required();
  flags
      .text("--context", c.context,
            "CSV of observed points: the columns of --targets, and the values; '-' for standard input")
      .required();
  flags.text("--targets", c.targets, "CSV of points to predict at, '-' for standard input; must fit in memory")
      .required();
  flags.text("--out", c.out, "CSV to write: context_rows, x, mean_* and std_* columns; '-' for standard output")
      .required();
  flags.whole("--every", c.every, {0}, "context rows between answers, 0 for one answer at the end");
  flags.whole("--chunk", c.chunk, {1}, "rows absorbed, and targets predicted, at a time; bounds the memory");
}

constexpr const char* kCountColumn = "context_rows";

std::string streaming_models() {
  std::vector<std::string> names;
  for (const ModelInfo& info : models()) {
    const auto protocol = protocol_with_preset(info.name);
    if (protocol && make_model(model_spec(*protocol, info.name), {.drawn = false})->streams())
      names.emplace_back(info.name);
  }
  return names.empty() ? "none of this build" : fmt::format("{}", fmt::join(names, ", "));
}

/// The rows that are asked for again and again.
struct Targets {
  std::vector<std::string> x_names;
  std::vector<double> x;  // row-major

  std::size_t dim_x() const { return x_names.size(); }
  std::size_t rows() const { return x.size() / dim_x(); }
};

Targets read_targets(const std::filesystem::path& path, std::int64_t dim_x) {
  TargetReader reader(path, dim_x);
  Targets targets{reader.x_names(), {}};
  reader.read(std::numeric_limits<std::int64_t>::max(), targets.x);
  return targets;
}

/// A context that grows, and the table of what the model says at the targets meanwhile.
class Stream {
 public:
  Stream(const Model& model, const Draws& draws, const Targets& targets, std::int64_t chunk, CsvWriter& out)
      : model_(model),
        draws_(draws),
        targets_(targets),
        chunk_(chunk),
        out_(out),
        as_is_(static_cast<std::size_t>(model.dim_y())) {}

  std::int64_t context_rows() const { return context_rows_; }
  std::int64_t answers() const { return answers_; }
  /// Whether there is an answer for the context as it is now.
  bool answered() const { return answered_; }

  void absorb(const ObservedRows& rows) {
    const Context more{to_points(rows.x, targets_.dim_x()), to_points(rows.y, as_is_.size()), {}};
    state_ = state_ ? model_.update(*state_, more) : model_.condition(more, draws_, kSamples);
    context_rows_ += rows.count;
    answered_ = false;
  }

  void answer() {
    const double leading[] = {static_cast<double>(context_rows_)};
    const std::size_t width = targets_.dim_x(),
                      step = std::min(static_cast<std::size_t>(chunk_), targets_.rows()) * width;
    for (std::size_t begin = 0; begin < targets_.x.size(); begin += step) {
      const auto x = std::span(targets_.x).subspan(begin, std::min(step, targets_.x.size() - begin));
      const Moments said = moments(*model_.query(*state_, to_points(x, width)));
      out_.write(prediction_rows(leading, x, width, said.mean, said.std, as_is_));
    }
    out_.flush();  // who reads through a pipe need not wait for the next one
    ++answers_;
    answered_ = true;
  }

 private:
  const Model& model_;
  Draws draws_;
  const Targets& targets_;
  std::int64_t chunk_;
  CsvWriter& out_;
  std::vector<ValueMap> as_is_;
  std::unique_ptr<ContextState> state_;
  std::int64_t context_rows_ = 0, answers_ = 0;
  bool answered_ = false;
};

/// Tells every matter once, with the answer that it first concerns.
class Warnings {
 public:
  void tell_new(const PredictionReport& report, Progress& progress) {
    for (const Warning& warning : report.warnings())
      if (told_.insert(warning.about).second) progress.message("npzoo: warning: " + one_line(warning.text));
  }

 private:
  std::set<std::string> told_;
};

int stream(const StreamCommand& c) {
  std::optional<InterruptGuard> interrupt;  // until there is something to clean up, Ctrl-C ends the program as usual
  const auto give_up = [&interrupt] { return interrupt && interrupt->requested(); };
  check(c.context != "-" || c.targets != "-",
        "[stream] --context and --targets are both standard input, expected a file for one of them");
  const Checkpoint checkpoint = load_checkpoint(find_weights(c.checkpoint));
  const auto model = restore_model(checkpoint);
  check(model->streams(),
        "[stream] {} encodes all of its context again when points are added, expected a model that streams: {}",
        checkpoint.run.spec.name, streaming_models());
  const Targets targets = read_targets(c.targets, model->dim_x());
  ContextReader context(c.context, targets.x_names, model->dim_y(), give_up);
  const std::string leading[] = {kCountColumn};

  interrupt.emplace();
  CsvWriter out(c.out, prediction_header(leading, targets.x_names, context.y_names(), c.targets));
  PredictionReport report = prediction_report(
      checkpoint, *model, /*standardised=*/false,
      leave_as_is(targets.dim_x(), context.y_names().size(), checkpoint.run.protocol.data->training_range()),
      targets.x_names, context.y_names());
  report.targets.add(targets.x);
  Warnings warnings;
  Stream absorbed(*model, {checkpoint.run.seed, Purpose::prediction, 0}, targets,
                  targets_at_a_time(model_info(checkpoint.run.spec.name).density, c.chunk), out);
  Progress progress("stream", 0, {.unit = "rows"});
  for (bool more = true; more;) {
    const std::int64_t done = absorbed.context_rows();
    const std::int64_t wanted = c.every > 0 ? std::min(c.chunk, c.every - done % c.every) : c.chunk;
    const ObservedRows next = context.read(wanted);
    if (give_up()) return kInterruptedExit;
    more = next.count == wanted;
    if (next.count > 0 || done == 0) absorbed.absorb(next);
    report.context.add(next.x);
    report.values.add(next.y);
    const bool due = c.every > 0 && absorbed.context_rows() % c.every == 0;
    if (!absorbed.answered() && (due || !more)) {
      absorbed.answer();
      warnings.tell_new(report, progress);
    }
    progress.update(absorbed.context_rows());
  }
  out.commit();
  progress.finish();
  if (c.common.json)
    print_json(JsonValue::object({{"context_rows", absorbed.context_rows()},
                                  {"target_rows", targets.rows()},
                                  {"answers", absorbed.answers()},
                                  {"warnings", to_json(report.warnings())},
                                  {"out", c.out.string()}}));
  return 0;
}

int run(const StreamCommand& c) {
  apply(c.common);
  check_outputs("stream", c.common, {{"--out", c.out}},
                {{"--checkpoint", find_weights(c.checkpoint)}, {"--context", c.context}, {"--targets", c.targets}});
  const NoGrad off;
  try {
    return stream(c);
  } catch (const Cancelled&) {
    return kInterruptedExit;
  }
}

}  // namespace

extern const CommandInfo stream_command = command<StreamCommand, add_flags, run>(
    "Predict from a context that is read as it comes, in constant memory; inputs and values are used as they are.");

}  // namespace npzoo
