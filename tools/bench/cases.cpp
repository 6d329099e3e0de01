#include "tools/bench/cases.h"

#include "engine/optim/schedule.h"
#include "tools/bench/support.h"

namespace npzoo {

Task typical_task(const Protocol& protocol, const BenchCase& c) {
  const TaskConfig& data = *protocol.data;
  const TaskExtents typical = data.typical_extents();
  const std::int64_t batch = c.batch.value_or(protocol.training.batch_size);
  const std::int64_t nc = c.context.value_or(typical.context);
  const std::int64_t nt = c.targets.value_or(typical.targets);
  Random random(c.seed);
  return {random_normal(random, {batch, nc, data.dim_x()}),
          random_normal(random, {batch, nc, data.dim_y()}),
          random_normal(random, {batch, nt, data.dim_x()}),
          random_normal(random, {batch, nt, data.dim_y()}),
          {}};
}

TrainStep::TrainStep(const Protocol& protocol, const BenchCase& c)
    : config_(protocol.training),
      model_(make_model(model_spec(protocol, c.model), {.seed = c.seed})),
      optimiser_(config_.optimiser, named_parameters(*model_)),
      gradients_(optimiser_.parameters()),
      task_(typical_task(protocol, c)) {
  if (default_device() == Device::cuda) device_step_ = std::make_unique<DeviceStep>(*model_, optimiser_);
}

double TrainStep::operator()(StepProfile* profile) {
  if (device_step_ && !profile) return (*device_step_)(task_, learning_rate(), config_.clip_norm);
  const double loss = gradients_.compute(*model_, task_, {}, profile ? &profile->operations : nullptr);
  const double optimiser_ms =
      milliseconds([this] { optimiser_.step(gradients_.parts(), learning_rate(), config_.clip_norm); });
  if (profile) profile->optimiser_ms += optimiser_ms;
  return loss;
}

double TrainStep::learning_rate() const {
  return npzoo::learning_rate(config_.schedule, config_.optimiser.lr, 0, config_.steps);
}

Forward::Forward(const Protocol& protocol, const BenchCase& c)
    : model_(make_model(model_spec(protocol, c.model), {.seed = c.seed})), task_(typical_task(protocol, c)) {}

Prediction Forward::operator()() const {
  const NoGrad off;
  return model_->predict(task_);
}

}  // namespace npzoo
