#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>

#include "npzoo/datasets/tables/points.h"
#include "npzoo/datasets/tables/prediction_rows.h"
#include "npzoo/engine/cancellation.h"
#include "npzoo/engine/words.h"
#include "npzoo/models/applications/tables/point_predictor.h"
#include "tools/cli/interrupt.h"
#include "tools/cli/messages.h"
#include "tools/cli/progress.h"
#include "tools/predict/application.h"
#include "tools/predict/picture.h"
#include "tools/reports/prediction_report.h"

namespace npzoo::tools {

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

Question read_question(const PredictOptions& c, const TrainedModel& trained) {
  const auto& [checkpoint, model] = trained;
  Question question{std::make_unique<TargetReader>(c.targets, model->dim_x()), {}, {}, {}, {}};
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

/// The table of predictions: all columns of the targets, then means and standard deviations.
std::unique_ptr<TableWriter> open_predictions(const PredictOptions& c, const Question& question,
                                              const PointPredictor& predictor) {
  if (c.out.empty()) return {};
  return std::make_unique<TableWriter>(c.out, prediction_header({}, question.x_names, question.y_names, c.targets),
                                       c.header ? predictor.report().comments() : std::vector<std::string>(),
                                       question.targets->style());
}

std::unique_ptr<TableWriter> open_samples(const PredictOptions& c, const Question& question,
                                          const PointPredictor& predictor) {
  if (c.samples == 0) return {};
  std::vector<std::string> comments = predictor.report().comments();
  comments.push_back(
      fmt::format("samples: {} of {}", c.samples,
                  predictor.density() == Density::marginal ? "each target by itself" : "all targets together"));
  if (!c.header) comments.clear();
  return std::make_unique<TableWriter>(c.samples_out,
                                       sample_header(question.x_names, question.y_names, c.targets, c.table), comments,
                                       question.targets->style());
}

/// Writes the figures of some rows, each with as many decimals as its standard deviation.
void write_figures(const TargetRows& rows, const PointFigures& figures, std::int64_t digits, TableWriter& out) {
  const std::size_t dim_y = figures.mean.size() / rows.text.size();
  std::vector<double> numbers;
  for (std::size_t i = 0; i < rows.text.size(); ++i) {
    numbers.clear();
    for (const auto* of_rows : {&figures.mean, &figures.std})
      for (std::size_t at = i * dim_y; at < (i + 1) * dim_y; ++at)
        numbers.push_back(round_to_std((*of_rows)[at], figures.std[at], digits));
    out.write(rows.text[i], numbers);
  }
}

void write_drawn(const TargetRows& rows, const PointFigures& figures, std::int64_t digits, TableWriter& out) {
  const std::size_t dim_y = figures.mean.size() / rows.text.size(),
                    count = figures.samples.size() / figures.mean.size();
  std::vector<double> numbers;
  for (std::size_t i = 0; i < rows.text.size(); ++i)
    for (std::size_t k = 0; k < count; ++k) {
      numbers.assign(1, static_cast<double>(k + 1));
      for (std::size_t j = 0; j < dim_y; ++j)
        numbers.push_back(
            round_to_std(figures.samples[(i * count + k) * dim_y + j], figures.std[i * dim_y + j], digits));
      out.write(rows.text[i], numbers);
    }
}

void draw_figures(const TargetRows& rows, const PointFigures& figures, std::int64_t digits, std::size_t dim_x,
                  PredictionPicture& picture) {
  const std::size_t dim_y = figures.mean.size() / rows.text.size();
  for (std::size_t i = 0; i < figures.mean.size(); ++i)
    picture.add(i % dim_y, std::span(rows.x).subspan(i / dim_y * dim_x, dim_x),
                round_to_std(figures.mean[i], figures.std[i], digits),
                round_to_std(figures.std[i], figures.std[i], digits));
}

JsonValue result(const PredictOptions& c, const PredictionReport& report, double seconds) {
  JsonValue json = tools::to_json(report);
  json.update({{"rows", report.targets.rows()}, {"context_rows", report.context.rows()}, {"seconds", seconds}});
  json.set("facts", JsonValue::array(report.comments()));
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

int predict_points(const PredictOptions& c, const TrainedModel& trained) {
  const auto began = std::chrono::steady_clock::now();
  Question question = read_question(c, trained);
  const std::int64_t most = most_drawn_rows(question.x_names.size());
  check(c.plot.empty() || question.context.count <= most, "[plot] {} has {} rows, expected at most {} in a picture",
        c.table.string(), question.context.count, most);
  Progress progress("predict", 0, {.unit = "rows", .passing = true});
  const ObservedRows& context = question.context;
  PointPredictor predictor(trained, context.x, context.y,
                           {.x_names = question.x_names,
                            .y_names = question.y_names,
                            .x_forms = question.forms,
                            .standardise = !c.as_is,
                            .samples = c.samples,
                            .autoregressive = c.autoregressive,
                            .chunk = c.chunk});
  predictor.observe(context.x, context.y);

  const InterruptGuard interrupt;  // before there is something to clean up, Ctrl-C ends the program as usual
  const StopScope stop(interrupt.token());
  TargetChunks chunks(question, c, predictor.targets_at_a_time());
  TargetRows rows;
  chunks.next(rows);  // the first rows decide how the table writes numbers
  const auto out = open_predictions(c, question, predictor), samples = open_samples(c, question, predictor);
  const std::unique_ptr<PredictionPicture> picture = make_picture(c, question, trained.checkpoint.run.spec.name);
  for (; rows.count() > 0; chunks.next(rows)) {
    throw_if_stopped();
    const PointFigures figures = predictor.predict(rows.x);
    if (out) write_figures(rows, figures, c.digits, *out);
    if (samples) write_drawn(rows, figures, c.digits, *samples);
    if (picture) draw_figures(rows, figures, c.digits, question.x_names.size(), *picture);
    progress.update(static_cast<double>(predictor.report().targets.rows()));
  }
  if (samples) samples->flush();
  if (picture) picture->draw();
  throw_if_stopped();
  if (out) out->commit();
  if (samples) samples->commit();
  if (picture) picture->commit();
  progress.finish();
  show_facts(c,
             fmt::format("predicted {} at {}", fmt::join(question.y_names, ", "),
                         counted(predictor.report().targets.rows(), "row")),
             predictor.report().comments());
  for (const Warning& warning : predictor.report().warnings())
    progress.message("npzoo: warning: " + one_line(warning.text));
  warn_of(predictor.events());
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - began;
  if (c.common.json) print_json(result(c, predictor.report(), seconds.count()));
  return 0;
}

}  // namespace npzoo::tools
