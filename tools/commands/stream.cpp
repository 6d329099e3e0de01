#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>

#include "npzoo/datasets/tables/points.h"
#include "npzoo/datasets/tables/prediction_rows.h"
#include "npzoo/engine/cancellation.h"
#include "npzoo/models/applications/tables/point_predictor.h"
#include "npzoo/models/registry.h"
#include "npzoo/models/training/named_weights.h"
#include "tools/cli/command.h"
#include "tools/cli/common_options.h"
#include "tools/cli/interrupt.h"
#include "tools/cli/json_value.h"
#include "tools/cli/messages.h"
#include "tools/cli/outputs.h"
#include "tools/cli/presets.h"
#include "tools/cli/progress.h"
#include "tools/reports/prediction_report.h"

namespace npzoo::tools {

namespace {

struct StreamCommand {
  CommonOptions common;
  std::string checkpoint;
  std::filesystem::path context, targets, out;
  std::int64_t every = 0;  // context rows between answers, 0: one answer at the end
  std::int64_t chunk = 4096;
  std::int64_t digits = kStdDigits;
  bool as_is = false;  // no standardisation
  std::int64_t standardise_by = 1000;
};

void add_flags(Flags& flags, StreamCommand& c) {
  add_flags(flags, c.common);
  flags
      .text("--checkpoint", c.checkpoint,
            "file of train or export, or a name (see: npzoo list weights), of a model that streams")
      .required();
  flags
      .text("--context", c.context,
            "CSV of observed points: the columns of --targets, and the values; '-' for standard input")
      .required();
  flags.text("--targets", c.targets, "CSV of points to predict at, '-' for standard input; must fit in memory")
      .required();
  flags.text("--out", c.out, "CSV to write: context_rows, x, mean_* and std_* columns; '-' for standard output")
      .required();
  flags.whole("--every", c.every, {0}, "context rows between answers, 0 for one answer at the end");
  flags.whole("--digits", c.digits, {1, kMostStdDigits},
              "significant digits of standard deviations; means have as many decimals");
  const Flag as_is = flags.toggle("--no-standardise", c.as_is, "use inputs and values as they are");
  flags
      .whole(
          "--standardise-by", c.standardise_by, {1},
          "first rows of the context, which standardise the columns (predict uses all rows); answers begin after them")
      .excludes(as_is);
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

/// The rows that are predicted again and again.
struct Targets {
  std::vector<std::string> x_names;
  std::vector<ColumnForm> forms;
  TableStyle style;
  TargetRows rows;

  std::size_t dim_x() const { return x_names.size(); }
};

Targets read_targets(const std::filesystem::path& path, std::int64_t dim_x) {
  TargetReader reader(path, dim_x);
  Targets targets{reader.x_names(), {}, {}, {}};
  reader.read(std::numeric_limits<std::int64_t>::max(), targets.rows);
  targets.forms = reader.forms();
  targets.style = reader.style();
  return targets;
}

/// The rows of a context, of which the first may be looked at before they are read.
class ContextRows {
 public:
  ContextRows(ContextReader& reader, std::size_t dim_x, std::size_t dim_y)
      : reader_(reader), dim_x_(dim_x), dim_y_(dim_y) {}

  /// At most so many; once, before any is read.
  const ObservedRows& look_at_first(std::int64_t rows) {
    first_ = reader_.read(rows);
    ended_ = first_.count < rows;
    return first_;
  }

  /// Fewer than wanted only at the end.
  ObservedRows read(std::int64_t wanted) {
    const std::int64_t count = std::min(wanted, first_.count - taken_), left = wanted - count;
    ObservedRows rows = left > 0 && !ended_ ? reader_.read(left) : ObservedRows();
    const auto part = [&](const std::vector<double>& values, std::size_t width) {
      return std::span(values).subspan(static_cast<std::size_t>(taken_) * width,
                                       static_cast<std::size_t>(count) * width);
    };
    const auto x = part(first_.x, dim_x_), y = part(first_.y, dim_y_);
    rows.x.insert(rows.x.begin(), x.begin(), x.end());
    rows.y.insert(rows.y.begin(), y.begin(), y.end());
    rows.count += count;
    taken_ += count;
    return rows;
  }

 private:
  ContextReader& reader_;
  std::size_t dim_x_, dim_y_;
  ObservedRows first_;
  std::int64_t taken_ = 0;
  bool ended_ = false;
};

/// Writes the prediction at every target: the rows of the context so far, the target's columns, means and standard
/// deviations.
void write_answer(const Targets& targets, const PointFigures& figures, std::int64_t context_rows, std::int64_t digits,
                  TableWriter& out) {
  const std::string leading = fmt::format("{}{}", context_rows, targets.style.separator);
  const auto rows = static_cast<std::size_t>(targets.rows.count()), dim_y = rows > 0 ? figures.mean.size() / rows : 0;
  std::vector<double> numbers;
  for (std::size_t i = 0; i < rows; ++i) {
    numbers.clear();
    for (const auto* of_rows : {&figures.mean, &figures.std})
      for (std::size_t at = i * dim_y; at < (i + 1) * dim_y; ++at)
        numbers.push_back(round_to_std((*of_rows)[at], figures.std[at], digits));
    out.write(leading + targets.rows.text[i], numbers);
  }
  out.flush();  // so that the reader of a pipe need not wait for the next answer
}

/// Prints each kind of warning once, with the first answer that it concerns.
class Warnings {
 public:
  void print_new(const PredictionReport& report, Progress& progress) {
    for (const Warning& warning : report.warnings())
      if (printed_.insert(warning.about).second) progress.message("npzoo: warning: " + one_line(warning.text));
  }

 private:
  std::set<std::string> printed_;
};

std::vector<std::string> comments(const PredictionReport& report, const StreamCommand& c) {
  std::vector<std::string> lines = report.comments("stream");
  if (!c.as_is) lines.push_back(fmt::format("standardised by the first {} rows of the context", report.unit_rows));
  return lines;
}

JsonValue result(const StreamCommand& c, const PointPredictor& predictor, const Targets& targets,
                 std::int64_t answers) {
  JsonValue json = tools::to_json(predictor.report());
  json.update({{"context_rows", predictor.context_rows()},
               {"target_rows", targets.rows.count()},
               {"answers", answers},
               {"out", c.out.string()}});
  return json;
}

int stream(const StreamCommand& c) {
  check(c.context != "-" || c.targets != "-",
        "[stream] --context and --targets are both standard input, expected a file for one of them");
  const TrainedModel trained = load_model(c.checkpoint);
  const Model& model = *trained.model;
  if (!model.streams())
    fail("[stream] {} encodes all of its context again when points are added, expected a model that streams: {}",
         trained.checkpoint.run.spec.name, streaming_models());
  const Targets targets = read_targets(c.targets, model.dim_x());
  ContextReader reader(c.context, targets.x_names, model.dim_y());
  reader.set_forms(targets.forms);
  const std::string leading[] = {kCountColumn};

  const std::vector<std::string>& y_names = reader.y_names();
  const std::vector<std::string> header = prediction_header(leading, targets.x_names, y_names, c.targets);

  const InterruptGuard interrupt;  // before there is something to clean up, Ctrl-C ends the program as usual
  const StopScope stop(interrupt.token());
  check_can_be_written(c.out);
  Progress progress("stream", 0, {.unit = "rows"});
  ContextRows context(reader, targets.dim_x(), y_names.size());
  const ObservedRows& first = context.look_at_first(c.as_is ? 0 : c.standardise_by);
  PointPredictor predictor(trained, first.x, first.y,
                           {.x_names = targets.x_names,
                            .y_names = y_names,
                            .x_forms = reader.forms(),
                            .standardise = !c.as_is,
                            .chunk = c.chunk});
  TableWriter out(c.out, header, comments(predictor.report(), c), targets.style);
  Warnings warnings;
  std::int64_t answers = 0, answered_rows = -1;
  for (bool more = true; more;) {
    const std::int64_t done = predictor.context_rows();
    const std::int64_t wanted = c.every > 0 ? std::min(c.chunk, c.every - done % c.every) : c.chunk;
    const ObservedRows next = context.read(wanted);
    throw_if_stopped();
    more = next.count == wanted;
    if (next.count > 0) predictor.observe(next.x, next.y);
    const std::int64_t rows = predictor.context_rows();
    const bool due = c.every > 0 && rows % c.every == 0;
    if (rows != answered_rows && (due || !more)) {
      write_answer(targets, predictor.predict(targets.rows.x, answers > 0), rows, c.digits, out);
      warnings.print_new(predictor.report(), progress);
      ++answers;
      answered_rows = rows;
    }
    progress.update(static_cast<double>(rows));
  }
  out.commit();
  progress.finish();
  if (c.common.json) print_json(result(c, predictor, targets, answers));
  return 0;
}

int run(const StreamCommand& c) {
  apply(c.common);
  check_outputs("stream", c.common, {{"--out", c.out}},
                {{"--checkpoint", find_weights(c.checkpoint)}, {"--context", c.context}, {"--targets", c.targets}});
  check_table_name("stream", {"--out", c.out});
  try {
    return stream(c);
  } catch (const Interrupted&) {
    return kInterruptedExit;
  }
}

}  // namespace

extern const CommandInfo stream_command = command<StreamCommand, add_flags, run>(
    "Predict from a context that is read as it arrives.", CommandGroup::predict,
    "npzoo stream --checkpoint cnp:tnp/gp-rbf --context observed.csv --targets where.csv --out answers.csv");

}  // namespace npzoo::tools
