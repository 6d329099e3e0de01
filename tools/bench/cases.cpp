#include "tools/bench/cases.h"

#include <cmath>

#include "npzoo/engine/optim/schedule.h"
#include "npzoo/models/events/event_model.h"
#include "tools/bench/support.h"

namespace npzoo::tools {

namespace {

/// Returns values that a model accepts as y: normal numbers, or gaps and marks of events.
Tensor typical_values(const Model& model, Random& random, const Shape& shape) {
  Tensor y = random_normal(random, shape);
  const auto* events = dynamic_cast<const EventModel*>(&model);
  if (events == nullptr) return y;
  Tensor here = y.to(Device::cpu);
  const std::span<float> values = here.values<float>();
  for (std::size_t i = 0; i + 1 < values.size(); i += 2) {
    values[i] = std::abs(values[i]);
    values[i + 1] = static_cast<float>(static_cast<std::int64_t>(i / 2) % events->marks());
  }
  return here.to(y.device());
}

}  // namespace

Task typical_task(const Model& model, const Protocol& protocol, const BenchCase& c) {
  const TaskConfig& data = *protocol.data;
  const TaskExtents typical = data.typical_extents();
  const std::int64_t batch = c.batch.value_or(protocol.training.batch_size);
  const std::int64_t nc = c.context.value_or(typical.context);
  const std::int64_t nt = c.targets.value_or(typical.targets);
  Random random(c.seed);
  return {nearest_places(model, random_normal(random, {batch, nc, data.dim_x()})),
          typical_values(model, random, {batch, nc, data.dim_y()}),
          nearest_places(model, random_normal(random, {batch, nt, data.dim_x()})),
          typical_values(model, random, {batch, nt, data.dim_y()}),
          {}};
}

TrainStep::TrainStep(const Protocol& protocol, const BenchCase& c)
    : config_(protocol.training),
      model_(make_model(model_spec(protocol, c.model), {.seed = c.seed})),
      optimiser_(config_.optimiser, named_parameters(*model_)),
      step_(make_training_step(*model_, optimiser_)),
      profiled_(*model_, optimiser_),
      task_(typical_task(*model_, protocol, c)),
      draws_(c.seed, Purpose::training, 0) {}

double TrainStep::operator()(StepProfile* profile) {
  profiled_.set_profile(profile);
  TrainingStep& step = profile ? profiled_ : *step_;
  return step(task_, draws_, learning_rate(), config_.clip_norm);
}

double TrainStep::learning_rate() const {
  return npzoo::learning_rate(config_.schedule, config_.optimiser.lr, 0, config_.steps);
}

std::vector<Tensor> TrainStep::drawn() const {
  const NoGrad off;
  std::vector<Tensor> notes;
  Draws noted = draws_.noted_in(notes);
  static_cast<void>(model_->loss(task_, noted));
  return notes;
}

Forward::Forward(const Protocol& protocol, const BenchCase& c)
    : model_(make_model(model_spec(protocol, c.model), {.seed = c.seed})),
      task_(typical_task(*model_, protocol, c)),
      draws_(c.seed, Purpose::prediction, 0) {}

std::unique_ptr<ContextState> Forward::encoded() const {
  Draws same = draws_;
  return model_->condition({task_.xc, task_.yc, task_.lengths}, same, kSamples);
}

Marginals Forward::operator()() const {
  const NoGrad off;
  return model_->query(*encoded(), task_.xt)->marginals();
}

double Forward::loss() const {
  const NoGrad off;
  const auto state = encoded();
  return nll(*model_->query(*state, task_.xt), task_.yt).item();
}

}  // namespace npzoo::tools
