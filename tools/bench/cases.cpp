#include "tools/bench/cases.h"

#include <algorithm>

#include "engine/optim/schedule.h"
#include "tools/bench/support.h"

namespace npzoo {

Task typical_task(const Protocol& protocol, const BenchCase& c) {
  const GpDistribution& data = protocol.data;
  const bool disjoint = data.targets == GpDistribution::Targets::disjoint;
  std::int64_t grid = data.grid > 0 ? 1 : 0;
  for (std::int64_t axis = 0; axis < data.dims; ++axis) grid *= data.grid;
  const std::int64_t typical = disjoint ? std::clamp(data.points / 2, data.context.low, data.context.high - 1)
                                        : (data.context.low + data.context.high - 1) / 2;
  const std::int64_t batch = c.batch.value_or(protocol.training.batch_size);
  const std::int64_t nc = c.context.value_or(typical);
  const std::int64_t nt = c.targets.value_or(disjoint ? data.points - typical : data.points + grid);
  Random random(c.seed);
  return {random_normal(random, {batch, nc, data.dims}),
          random_normal(random, {batch, nc, 1}),
          random_normal(random, {batch, nt, data.dims}),
          random_normal(random, {batch, nt, 1}),
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
