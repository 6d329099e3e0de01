#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>

#include "datasets/tables/points.h"
#include "datasets/tables/prediction_rows.h"
#include "engine/tape.h"
#include "models/registry.h"
#include "models/training/checkpoint.h"
#include "models/training/named_weights.h"
#include "ops/random_feature_attention/random_feature_attention.h"
#include "tools/cli/command.h"
#include "tools/cli/common_options.h"
#include "tools/cli/interrupt.h"
#include "tools/cli/json_value.h"
#include "tools/cli/messages.h"
#include "tools/cli/outputs.h"
#include "tools/cli/progress.h"
#include "tools/commands/prediction_report.h"
#include "tools/plot/band_panel.h"

namespace npzoo {

namespace {

constexpr std::int64_t kMostSamples = 10'000;

struct PredictCommand {
  CommonOptions common;
  std::string checkpoint;
  std::filesystem::path context, targets, out;
  std::filesystem::path plot;  // empty: no picture
  bool as_is = false;          // no standardisation
  std::int64_t chunk = 4096;
  std::int64_t samples = 0;
  std::filesystem::path samples_out;  // empty: none
};

void add_flags(Flags& flags, PredictCommand& c) {
  add_flags(flags, c.common);
  add_checkpoint(flags, c.checkpoint);
  flags.text("--context", c.context, "CSV of observed points: the columns of --targets, and the values").required();
  flags.text("--targets", c.targets, "CSV of points to predict at, '-' for standard input").required();
  flags.text("--out", c.out, "CSV to write: x, mean_* and std_* columns; '-' for standard output").required();
  flags.text("--plot", c.plot, "picture to write as well, .svg or .png; for one input and at most 100000 targets");
  flags.toggle("--no-standardise", c.as_is,
               "use inputs and values as they are, instead of mapping those of the context to the range and the "
               "standard deviation of training");
  flags.whole("--chunk", c.chunk, {1}, "targets predicted at a time; bounds the memory");
  flags.whole("--samples", c.samples, {0, kMostSamples},
              "samples to draw from all targets together, for --samples-out; a model that predicts targets jointly, or "
              "draws functions, then takes all targets at once; others draw each target by itself");
  flags.text("--samples-out", c.samples_out,
             "CSV to write them to: x, sample (from 1 on) and the values; '-' for standard output");
  flags.check_together([&c] {
    check((c.samples > 0) == !c.samples_out.empty(), "{} found without {}, expected both or none",
          c.samples > 0 ? "--samples" : "--samples-out", c.samples > 0 ? "--samples-out" : "--samples");
  });
}

constexpr std::int64_t kAllRows = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kDrawnRows = 100'000;

/// The rows of the targets, a chunk at a time. For a picture all of them are read at once, and counted.
class TargetChunks {
 public:
  TargetChunks(TargetReader& reader, const PredictCommand& c, std::int64_t chunk) : reader_(reader), chunk_(chunk) {
    if (c.plot.empty()) return;
    held_ = true;
    check(reader_.read(kDrawnRows + 1, x_) <= kDrawnRows,
          "[plot] {} has more than {} rows, expected at most as many in a picture", c.targets.string(), kDrawnRows);
  }

  /// Valid until the next call; empty at the end.
  std::span<const double> next() {
    if (!held_) {
      reader_.read(chunk_, x_);
      return x_;
    }
    const std::size_t left = x_.size() - begin_;
    const auto chunk = std::span(x_).subspan(begin_, std::min(left, static_cast<std::size_t>(chunk_)));  // of one input
    begin_ += chunk.size();
    return chunk;
  }

 private:
  TargetReader& reader_;
  std::int64_t chunk_;
  bool held_ = false;
  std::vector<double> x_;
  std::size_t begin_ = 0;
};

/// A band for each value column, drawn when all predictions are there.
class Picture {
 public:
  Picture(const std::filesystem::path& path, const std::string& model, const std::string& x_name,
          const std::vector<std::string>& y_names, const ObservedRows& context)
      : path_(path), file_(path), bands_(y_names.size()) {
    for (std::size_t j = 0; j < bands_.size(); ++j) {
      bands_[j].name = model;
      bands_[j].x_label = x_name;
      bands_[j].y_label = y_names[j];
      bands_[j].context.x = context.x;
      for (std::size_t i = j; i < context.y.size(); i += bands_.size()) bands_[j].context.y.push_back(context.y[i]);
    }
  }

  /// Rows of the table.
  void add(std::span<const double> rows) {
    const std::size_t count = bands_.size();
    for (; !rows.empty(); rows = rows.subspan(1 + 2 * count)) {
      for (std::size_t j = 0; j < count; ++j) {
        bands_[j].x.push_back(rows[0]);
        bands_[j].mean.push_back(rows[1 + j]);
        bands_[j].std.push_back(rows[1 + count + j]);
      }
    }
  }

  /// Writes all but the name of the file, which `commit` gives it.
  void draw() {
    plot::Figure figure{.panel_width = 480, .panel_height = 220};
    for (const plot::BandPanel& band : bands_) figure.panels.push_back(plot::make_panel(band));
    file_.write(plot::draw_figure(figure, path_));
    file_.flush();
  }
  void commit() { file_.commit(); }

 private:
  std::filesystem::path path_;
  AtomicFile file_;
  std::vector<plot::BandPanel> bands_;
};

/// The table of samples, where one is asked for.
class SampleTable {
 public:
  SampleTable(const PredictCommand& c, const PredictionReport& report, const std::vector<std::string>& x_names,
              const std::vector<std::string>& y_names, Density density)
      : count_(c.samples) {
    std::vector<std::string> comments = report.comments();
    comments.push_back(fmt::format("samples: {} of {}", count_,
                                   density == Density::marginal ? "each target by itself" : "all targets together"));
    file_.emplace(c.samples_out, sample_header(x_names, y_names, c.targets, c.context), comments);
  }

  void add(const Prediction& prediction, std::span<const double> x, std::size_t dim_x, const Standardisation& units,
           Draws& draws) {
    file_->write(sample_rows(x, dim_x, prediction.sample(count_, draws), units.values));
  }
  void flush() { file_->flush(); }
  void commit() { file_->commit(); }

 private:
  std::int64_t count_;
  std::optional<CsvWriter> file_;
};

void check_picture(const PredictCommand& c, const TrainingRun& run, const std::vector<std::string>& x_names) {
  if (c.plot.empty()) return;
  plot::format_of(c.plot);
  check(x_names.size() == 1, "[plot] {} trained under {} has {} inputs, {}, expected a model of one", run.spec.name,
        run.protocol.name, x_names.size(), fmt::join(x_names, " and "));
}

PredictionReport make_report(const PredictCommand& c, const Checkpoint& checkpoint, const Model& model,
                             const std::vector<std::string>& x_names, const std::vector<std::string>& y_names,
                             const ObservedRows& context) {
  const TrainingRange range = checkpoint.run.protocol.data->training_range();
  const Standardisation units = c.as_is ? leave_as_is(x_names.size(), y_names.size(), range)
                                        : standardise(context.x, context.y, x_names, y_names, range);
  PredictionReport report = prediction_report(checkpoint, model, !c.as_is, units, x_names, y_names);
  report.context.add(context.x);
  report.values.add(context.y);
  return report;
}

JsonValue result(const PredictCommand& c, const PredictionReport& report) {
  JsonValue json = report.json();
  json.update({{"rows", report.targets.rows()}, {"context_rows", report.context.rows()}, {"out", c.out.string()}});
  if (!c.plot.empty()) json.set("plot", c.plot.string());
  if (c.samples > 0) json.update({{"samples", c.samples}, {"samples_out", c.samples_out.string()}});
  return json;
}

int predict(const PredictCommand& c) {
  std::optional<InterruptGuard> interrupt;  // until there is something to clean up, Ctrl-C ends the program as usual
  const auto give_up = [&interrupt] { return interrupt && interrupt->requested(); };
  const Checkpoint checkpoint = load_checkpoint(find_weights(c.checkpoint));
  const auto model = restore_model(checkpoint);
  TargetReader reader(c.targets, model->dim_x(), give_up);
  const std::vector<std::string>& x_names = reader.x_names();
  check_picture(c, checkpoint.run, x_names);
  ContextReader observed(c.context, x_names, model->dim_y());
  const std::vector<std::string> header = prediction_header({}, x_names, observed.y_names(), c.targets);
  Progress progress("predict", 0, {.unit = "rows"});  // a large context takes its time before the first row
  const ObservedRows context = observed.read(kAllRows);
  check(c.plot.empty() || context.count <= kDrawnRows, "[plot] {} has {} rows, expected at most {} in a picture",
        c.context.string(), context.count, kDrawnRows);
  PredictionReport report = make_report(c, checkpoint, *model, x_names, observed.y_names(), context);
  const Standardisation& units = report.units;
  const std::size_t dim_x = x_names.size(), dim_y = observed.y_names().size();
  Draws draws(checkpoint.run.seed, Purpose::prediction, 0);
  const auto state = model->condition(
      {to_points(units.map_inputs(context.x), dim_x), to_points(units.map_values(context.y), dim_y), {}}, draws,
      kSamples);

  interrupt.emplace();
  const Density density = model_info(checkpoint.run.spec.name).density;
  // A sample is one function at all targets, where the model tells of functions.
  const bool together = c.samples > 0 && density != Density::marginal;
  TargetChunks targets(reader, c, targets_at_a_time(together ? Density::joint : density, c.chunk));
  CsvWriter out(c.out, header, report.comments());
  std::optional<SampleTable> samples;
  if (c.samples > 0) samples.emplace(c, report, x_names, observed.y_names(), density);
  std::optional<Picture> picture;
  if (!c.plot.empty()) picture.emplace(c.plot, checkpoint.run.spec.name, x_names[0], observed.y_names(), context);
  for (auto x = targets.next(); !x.empty(); x = targets.next()) {
    if (give_up()) return kInterruptedExit;
    const auto prediction = model->query(*state, to_points(units.map_inputs(x), dim_x));
    const Moments said = moments(*prediction);
    const std::vector<double> rows = prediction_rows({}, x, dim_x, said.mean, said.std, units.values);
    out.write(rows);
    if (samples) samples->add(*prediction, x, dim_x, units, draws);
    if (picture) picture->add(rows);
    report.targets.add(x);
    progress.update(report.targets.rows());
  }
  if (samples) samples->flush();
  if (picture) picture->draw();
  if (give_up()) return kInterruptedExit;
  out.commit();
  if (samples) samples->commit();
  if (picture) picture->commit();
  progress.finish();
  for (const Warning& warning : report.warnings()) progress.message("npzoo: warning: " + one_line(warning.text));
  warn_of_clamped_denominators(clamped_denominators());
  if (c.common.json) print_json(result(c, report));
  return 0;
}

int run(const PredictCommand& c) {
  apply(c.common);
  check(c.out != "-" || c.samples_out != "-",
        "[predict] --out - and --samples-out - are both for standard output, expected a file for one of them");
  check_outputs("predict", c.common, {{"--out", c.out}, {"--samples-out", c.samples_out}, {"--plot", c.plot}},
                {{"--checkpoint", find_weights(c.checkpoint)}, {"--context", c.context}, {"--targets", c.targets}});
  const NoGrad off;
  try {
    return predict(c);
  } catch (const Cancelled&) {
    return kInterruptedExit;
  }
}

}  // namespace

extern const CommandInfo predict_command =
    command<PredictCommand, add_flags, run>("Predict at the points of a table, given observed points.");

}  // namespace npzoo
