#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <optional>

#include "npzoo/datasets/tables/points.h"
#include "npzoo/datasets/tables/prediction_rows.h"
#include "npzoo/engine/tape.h"
#include "npzoo/models/registry.h"
#include "npzoo/ops/kriging/kriging.h"
#include "npzoo/ops/random_feature_attention/random_feature_attention.h"
#include "tools/cli/interrupt.h"
#include "tools/cli/json_value.h"
#include "tools/cli/messages.h"
#include "tools/cli/progress.h"
#include "tools/predict/options.h"
#include "tools/predict/picture.h"
#include "tools/reports/prediction_report.h"

namespace npzoo {

namespace {

/// Observed points, and where to predict: all columns of the targets are inputs, all others of the context are values.
struct Question {
  std::unique_ptr<TargetReader> targets;
  std::vector<std::string> x_names, y_names;
  ObservedRows context;
  std::vector<ColumnForm> forms;
};

void check_picture(const PredictOptions& c, const TrainingRun& run, const std::vector<std::string>& x_names) {
  if (c.plot.empty()) return;
  plot::format_of(c.plot);
  check(x_names.size() <= 2, "[plot] {} trained under {} has {} inputs, {}, expected a model of one or two",
        run.spec.name, run.protocol.name, x_names.size(), fmt::join(x_names, ", "));
}

Question read_question(const PredictOptions& c, const TrainedModel& trained, const std::function<bool()>& give_up) {
  const auto& [checkpoint, model] = trained;
  Question question{std::make_unique<TargetReader>(c.targets, model->dim_x(), give_up), {}, {}, {}, {}};
  question.x_names = question.targets->x_names();
  check_picture(c, checkpoint.run, question.x_names);
  ContextReader observed(c.table, question.x_names, model->dim_y());
  question.y_names = observed.y_names();
  check_drawn_names(c.plot, question.x_names);
  check_drawn_names(c.plot, question.y_names);
  static_cast<void>(prediction_header({}, question.x_names, question.y_names, c.targets));
  Progress progress("predict", 0, {.unit = "rows", .passing = true});  // a large context takes its time
  question.context = observed.read(kAllRows);
  question.forms = observed.forms();
  question.targets->set_forms(question.forms);
  return question;
}

/// For a picture all rows are read at once, and counted.
class TargetChunks {
 public:
  TargetChunks(Question& question, const PredictOptions& c, std::int64_t chunk) : question_(question), chunk_(chunk) {
    if (c.plot.empty()) return;
    held_ = true;
    const std::int64_t most = most_drawn_rows(question.x_names.size());
    question_.targets->read(most + 1, all_);
    check(all_.count() <= most, "[plot] {} has more than {} rows, expected at most as many in a picture",
          c.targets.string(), most);
  }

  /// Replaces `rows`; there are none at the end.
  void next(TargetRows& rows) {
    if (!held_) return question_.targets->read(chunk_, rows);
    const auto from = static_cast<std::ptrdiff_t>(begin_),
               to = static_cast<std::ptrdiff_t>(std::min(begin_ + chunk_, all_.count()));
    rows.text.assign(all_.text.begin() + from, all_.text.begin() + to);
    const auto dim_x = std::ssize(question_.x_names);
    rows.x.assign(all_.x.begin() + from * dim_x, all_.x.begin() + to * dim_x);
    begin_ = to;
  }

 private:
  Question& question_;
  std::int64_t chunk_;
  bool held_ = false;
  TargetRows all_;
  std::int64_t begin_ = 0;
};

/// The table of samples, where one is asked for.
class SampleTable {
 public:
  SampleTable(const PredictOptions& c, const PredictionReport& report, const Question& question, Density density)
      : count_(c.samples), digits_(c.digits), dim_y_(question.y_names.size()) {
    std::vector<std::string> comments = report.comments();
    comments.push_back(fmt::format("samples: {} of {}", count_,
                                   density == Density::marginal ? "each target by itself" : "all targets together"));
    file_.emplace(c.samples_out, sample_header(question.x_names, question.y_names, c.targets, c.table), comments,
                  question.targets->style());
  }

  void add(const Prediction& prediction, const Tensor& std, const TargetRows& rows, const Standardisation& units,
           Draws& draws) {
    const std::vector<double> numbers = sample_rows(prediction.sample(count_, draws), std, units.values, digits_);
    for (std::size_t i = 0, width = 1 + dim_y_; i * width < numbers.size(); ++i)
      file_->write(rows.text[i / static_cast<std::size_t>(count_)], std::span(numbers).subspan(i * width, width));
  }
  void flush() { file_->flush(); }
  void commit() { file_->commit(); }

 private:
  std::int64_t count_, digits_;
  std::size_t dim_y_;
  std::optional<TableWriter> file_;
};

PredictionReport make_report(const PredictOptions& c, const Checkpoint& checkpoint, const Model& model,
                             const Question& question) {
  const TrainingRange range = checkpoint.run.protocol.data->training_range();
  const ObservedRows& context = question.context;
  const Standardisation units =
      c.as_is ? leave_as_is(question.x_names.size(), question.y_names.size(), range)
              : standardise_by_context(context.x, context.y, question.x_names, question.y_names, range);
  PredictionReport report = prediction_report(checkpoint, model, !c.as_is, units, question.x_names, question.y_names);
  report.x_forms = question.forms;
  report.context.add(context.x);
  report.values.add(context.y);
  return report;
}

JsonValue result(const PredictOptions& c, const PredictionReport& report, double seconds) {
  JsonValue json = report.json();
  json.update({{"rows", report.targets.rows()}, {"context_rows", report.context.rows()}, {"seconds", seconds}});
  if (!c.out.empty()) json.set("out", c.out.string());
  if (!c.plot.empty()) json.set("plot", c.plot.string());
  if (c.samples > 0) json.update({{"samples", c.samples}, {"samples_out", c.samples_out.string()}});
  return json;
}

std::unique_ptr<PredictionPicture> make_picture(const PredictOptions& c, const Question& question,
                                                const std::string& model) {
  if (c.plot.empty()) return {};
  std::vector<PictureAxis> axes;
  for (std::size_t i = 0; i < question.x_names.size(); ++i) axes.push_back({question.x_names[i], question.forms[i]});
  auto picture = std::make_unique<PredictionPicture>(c.plot, model, axes, question.y_names);
  const std::size_t dim_x = axes.size(), dim_y = question.y_names.size();
  for (std::size_t i = 0; i < question.context.y.size(); ++i)
    picture->add_context(i % dim_y, std::span(question.context.x).subspan(i / dim_y * dim_x, dim_x),
                         question.context.y[i]);
  return picture;
}

}  // namespace

int predict_one_task(const PredictOptions& c, const TrainedModel& trained) {
  const auto& [checkpoint, model] = trained;
  const auto began = std::chrono::steady_clock::now();
  std::optional<InterruptGuard> interrupt;  // until there is something to clean up, Ctrl-C ends the program as usual
  const auto give_up = [&interrupt] { return interrupt && interrupt->requested(); };
  Question question = read_question(c, trained, give_up);
  const std::int64_t most = most_drawn_rows(question.x_names.size());
  check(c.plot.empty() || question.context.count <= most, "[plot] {} has {} rows, expected at most {} in a picture",
        c.table.string(), question.context.count, most);
  const std::vector<std::string> header = prediction_header({}, question.x_names, question.y_names, c.targets);
  Progress progress("predict", 0, {.unit = "rows"});
  PredictionReport report = make_report(c, checkpoint, *model, question);
  const Standardisation& units = report.units;
  const std::size_t dim_x = question.x_names.size(), dim_y = question.y_names.size();
  Draws draws(checkpoint.run.seed, Purpose::prediction, 0);
  const auto state = model->condition({to_points(units.map_inputs(question.context.x), dim_x),
                                       to_points(units.map_values(question.context.y), dim_y),
                                       {}},
                                      draws, kSamples);

  interrupt.emplace();
  const Density density = model_info(checkpoint.run.spec.name).drawing();
  // A sample is one function at all targets, where the model tells of functions.
  const bool together = c.samples > 0 && density != Density::marginal;
  TargetChunks chunks(question, c, targets_at_a_time(together ? Density::joint : density, c.chunk));
  TargetRows rows;
  chunks.next(rows);  // which tells how the table writes numbers
  std::optional<TableWriter> out;
  if (!c.out.empty()) out.emplace(c.out, header, report.comments(), question.targets->style());
  std::optional<SampleTable> samples;
  if (c.samples > 0) samples.emplace(c, report, question, density);
  const std::unique_ptr<PredictionPicture> picture = make_picture(c, question, checkpoint.run.spec.name);
  for (; rows.count() > 0; chunks.next(rows)) {
    if (give_up()) return kInterruptedExit;
    const auto prediction = model->query(*state, to_points(units.map_inputs(rows.x), dim_x));
    const Moments said = moments(*prediction);
    const std::vector<double> numbers = prediction_rows(said.mean, said.std, units.values, c.digits);
    for (std::size_t i = 0; i < rows.text.size(); ++i) {
      const auto of_row = std::span(numbers).subspan(i * 2 * dim_y, 2 * dim_y);
      if (out) out->write(rows.text[i], of_row);
      for (std::size_t j = 0; picture && j < dim_y; ++j)
        picture->add(j, std::span(rows.x).subspan(i * dim_x, dim_x), of_row[j], of_row[dim_y + j]);
    }
    if (samples) samples->add(*prediction, said.std, rows, units, draws);
    report.targets.add(rows.x);
    progress.update(report.targets.rows());
  }
  if (samples) samples->flush();
  if (picture) picture->draw();
  if (give_up()) return kInterruptedExit;
  if (out) out->commit();
  if (samples) samples->commit();
  if (picture) picture->commit();
  progress.finish();
  for (const Warning& warning : report.warnings()) progress.message("npzoo: warning: " + one_line(warning.text));
  warn_of_clamped_denominators(clamped_denominators());
  warn_of_failed_factorisations(failed_factorisations());
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - began;
  if (c.common.json) print_json(result(c, report, seconds.count()));
  return 0;
}

}  // namespace npzoo
