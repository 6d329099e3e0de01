#include "npzoo/models/applications/tables/point_predictor.h"

#include <algorithm>

#include "npzoo/datasets/tables/points.h"
#include "npzoo/engine/cancellation.h"
#include "npzoo/models/applications/application_call.h"
#include "npzoo/models/applications/tables/likelihood_units.h"
#include "npzoo/models/registry.h"

namespace npzoo {

namespace {

Standardisation units_of(const TrainedModel& trained, std::span<const double> x, std::span<const double> y,
                         const PointOptions& options) {
  const TrainingRange range = trained.checkpoint.run.protocol.data->training_range();
  return units_of_likelihood(options.standardise ? standardise_by_context(x, y, options.x_names, options.y_names, range)
                                                 : leave_as_is(options.x_names.size(), options.y_names.size(), range),
                             trained.model->likelihood());
}

void check_points(const Model& model, std::span<const double> x, std::span<const double> y) {
  check(std::ssize(x) % model.dim_x() == 0 && std::ssize(x) / model.dim_x() * model.dim_y() == std::ssize(y),
        "[predict] {} numbers of x and {} of y found, expected {} and {} for each point", x.size(), y.size(),
        model.dim_x(), model.dim_y());
}

/// The model, if it fits to names and points.
Model& checked(const TrainedModel& trained, std::span<const double> x, std::span<const double> y,
               const PointOptions& options) {
  Model& model = *trained.model;
  if (options.autoregressive) check_predicts_each_alone(model_info(trained.checkpoint.run.spec.name), "predict");
  check(std::ssize(options.x_names) == model.dim_x() && std::ssize(options.y_names) == model.dim_y(),
        "[predict] {} names of inputs and {} of values found, expected {} and {} for this model",
        options.x_names.size(), options.y_names.size(), model.dim_x(), model.dim_y());
  check_points(model, x, y);
  return model;
}

}  // namespace

PointPredictor::PointPredictor(const TrainedModel& trained, std::span<const double> x, std::span<const double> y,
                               const PointOptions& options)
    : options_(options),
      one_by_one_(checked(trained, x, y, options)),
      model_(draws_one_by_one() ? static_cast<const Model&>(one_by_one_) : *trained.model),
      density_(draws_one_by_one() ? Density::joint : model_info(trained.checkpoint.run.spec.name).drawing()),
      // A sample is one function at all targets if the model draws functions.
      together_(npzoo::targets_at_a_time(options.samples > 0 && density_ != Density::marginal
                                             ? Density::joint
                                             : model_info(trained.checkpoint.run.spec.name).density,
                                         options.chunk)),
      report_(prediction_report(trained, options.standardise, units_of(trained, x, y, options), options.x_names,
                                options.y_names)),
      draws_(options.seed.value_or(trained.checkpoint.run.seed), Purpose::prediction, 0) {
  report_.x_forms = options.x_forms;
  report_.unit_rows = std::ssize(x) / model_.dim_x();
}

PointPredictor::~PointPredictor() = default;

void PointPredictor::observe(std::span<const double> x, std::span<const double> y) {
  return call_application(options_.stop, &model_, [&] {
    check_points(model_, x, y);
    check_observed(y, options_.y_names, model_.likelihood());
    const NumericalEventScope events;
    const Standardisation& units = report_.units;
    const Context more{to_points(units.map_inputs(x), options_.x_names.size()),
                       to_points(units.map_values(y), options_.y_names.size()),
                       {}};
    state_ = state_ ? model_.update(*state_, more) : model_.condition(more, draws_, kSamples);
    report_.context.add(x);
    report_.values.add(y);
    events_.add(events.count());
  });
}

PointFigures PointPredictor::predict(std::span<const double> x, bool again) {
  return call_application(options_.stop, &model_, [&] {
    const std::size_t dim_x = options_.x_names.size(), dim_y = options_.y_names.size();
    check(x.size() % dim_x == 0, "[predict] {} numbers of targets found, expected {} for each", x.size(), dim_x);
    if (!state_) observe({}, {});
    const NumericalEventScope events;
    PointFigures figures;
    const std::vector<ValueMap>& maps = report_.units.values;
    const std::size_t rows = x.size() / dim_x;
    for (std::size_t begin = 0; begin < rows; begin += static_cast<std::size_t>(together_)) {
      throw_if_stopped();
      const std::size_t count = std::min(static_cast<std::size_t>(together_), rows - begin);
      const auto part = x.subspan(begin * dim_x, count * dim_x);
      const auto prediction = model_.query(*state_, to_points(report_.units.map_inputs(part), dim_x));
      const Moments said = moments(*prediction);
      const auto mean = said.mean.values<double>(), std = said.std.values<double>();
      for (std::size_t i = 0; i < count * dim_y; ++i) {
        figures.mean.push_back(maps[i % dim_y].mean(mean[i]));
        figures.std.push_back(maps[i % dim_y].std(std[i], mean[i]));
      }
      if (options_.samples == 0) continue;
      const Tensor samples = prediction->sample(options_.samples, draws_);  // (S, 1, count, Dy)
      const auto drawn = samples.values<double>();
      for (std::size_t i = 0; i < count; ++i)
        for (std::size_t k = 0; k < static_cast<std::size_t>(options_.samples); ++k)
          for (std::size_t j = 0; j < dim_y; ++j)
            figures.samples.push_back(maps[j].mean(drawn[(k * count + i) * dim_y + j]));
    }
    if (!again) report_.targets.add(x);
    events_.add(events.count());
    return figures;
  });
}

}  // namespace npzoo
