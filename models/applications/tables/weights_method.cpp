#include <algorithm>
#include <iterator>

#include "npzoo/models/applications/tables/calendar_answers.h"
#include "npzoo/models/applications/tables/local_prediction.h"
#include "npzoo/models/applications/tables/method.h"
#include "npzoo/models/predictions/autoregressive_model.h"
#include "npzoo/models/registry.h"

namespace npzoo {

namespace {

constexpr std::int64_t kHeldPoints = 1 << 18;  // small, so that a large table reports progress early

LocalOptions local_options(const FillOptions& options, const TrainingRange& range) {
  const LocalOptions usual;
  const bool turn = options.turn && options.standardise;
  if (options.neighbours > 0)
    return {.largest_context = options.neighbours, .neighbours = options.neighbours, .turn = turn};
  return {
      .largest_context = range.max_context, .neighbours = std::min(usual.neighbours, range.max_context), .turn = turn};
}

SeriesOptions series_options(const TrainedModel& trained, const CompleteData& c, const FillOptions& options) {
  return {.density = model_info(trained.checkpoint.run.spec.name).drawing(),
          .x_names = c.data.x_names,
          .seed = options.seed.value_or(trained.checkpoint.run.seed),
          .standardise = options.standardise,
          .chunk = options.chunk,
          .held_points = kHeldPoints,
          .stop = options.stop,
          .job = options.job};
}

class WeightsRun : public MethodRun {
 public:
  WeightsRun(const TrainedModel& trained, const CompleteData& c, const FillOptions& options)
      : trained_(trained),
        c_(c),
        options_(options),
        range_(trained.checkpoint.run.protocol.data->training_range()),
        local_(local_options(options, range_)),
        quiet_(series_options(trained, c, options)),
        one_by_one_(*trained.model),
        series_(SeriesPredictor(draws_one_by_one() ? static_cast<const Model&>(one_by_one_) : *trained.model, range_,
                                told()),
                local_) {}

  SeriesMethod& series() override { return series_; }
  std::unique_ptr<SeriesMethod> quiet_series() const override {
    return std::make_unique<LocalPredictor>(SeriesPredictor(*trained_.model, range_, quiet_), local_);
  }
  TrainingRange range() const override { return range_; }
  std::vector<Warning> finish(const TableQuestion& question, FillResult& result) override;

 private:
  bool draws_one_by_one() const { return options_.autoregressive && options_.samples > 0; }

  /// With everything that was asked for, and progress.
  SeriesOptions told() const {
    SeriesOptions all = quiet_;
    all.quantiles = options_.quantiles;
    all.samples = options_.samples;
    if (draws_one_by_one()) all.density = Density::joint;
    all.progress = summed_progress(options_, c_.values(), trained_.model->dim_y());
    return all;
  }

  const TrainedModel& trained_;
  const CompleteData& c_;
  const FillOptions& options_;
  TrainingRange range_;
  LocalOptions local_;
  SeriesOptions quiet_;
  AutoregressiveModel one_by_one_;
  LocalPredictor series_;
};

std::vector<Warning> WeightsRun::finish(const TableQuestion& question, FillResult& result) {
  CalendarAnswers calendar = answer_by_calendar(trained_, c_, question, options_, quiet_, local_, result.columns);
  result.density = told().density;
  result.ends = std::move(calendar.ends);
  result.holes = std::move(calendar.holes);
  result.end_scores = std::move(calendar.scores);
  FillReport& report = result.report;
  report.local = local_;
  report.combined_ends = std::ssize(result.ends);
  report.standardised = options_.standardise;
  report.transforms = result.transforms;
  compare_with_training(trained_, question, report);
  describe_seasons(result);
  return std::move(calendar.warnings);
}

/// Whether the covariates are inputs of the model like the others.
bool takes_covariates(const TrainedModel& trained, const FillData& data) {
  return trained.model->dim_x() == data.dim_x;
}

}  // namespace

Method::NotTaken WeightsMethod::not_taken(const FillData& data) const {
  return {.places = data.lonlat, .covariates = takes_covariates(trained_, data) ? 0 : data.covariates};
}

void WeightsMethod::check(const CompleteData& c, const FillOptions& options) const {
  if (options.autoregressive) check_predicts_each_alone(model_info(trained_.checkpoint.run.spec.name), "predict");
  const std::int64_t inputs = takes_covariates(trained_, c.data) ? c.data.dim_x : check_covariates(c.data);
  check_fits(trained_, std::span(c.data.x_names).first(static_cast<std::size_t>(inputs)), c.data.value_names);
  npzoo::check(
      not_taken(c.data).covariates == 0 || !options.transform.any(),
      "[predict] --covariates found with --bounds, --counts or --transform, expected one of them, or --model gp");
}

std::unique_ptr<MethodRun> WeightsMethod::run(const CompleteData& c, const FillOptions& options) const {
  return std::make_unique<WeightsRun>(trained_, c, options);
}

}  // namespace npzoo
