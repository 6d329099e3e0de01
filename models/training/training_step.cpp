#include "npzoo/models/training/training_step.h"

#include <chrono>
#include <cmath>

#include "npzoo/engine/cancellation.h"
#include "npzoo/engine/error.h"
#include "npzoo/models/training/device_step.h"
#include "npzoo/models/training/host_step.h"

namespace npzoo {

std::unique_ptr<TrainingStep> make_training_step(Model& model, Optimiser& optimiser, Job* job, std::int64_t parts) {
  const bool on_device = default_device() == Device::cuda;
  check(!on_device || parts != 0 || job == nullptr || job->size() == 1,
        "[train] {} ranks on CUDA devices found, where a batch is one part; expected --set training.parts=NUMBER, with "
        "which any number of ranks has the same bits",
        job == nullptr ? 1 : job->size());
  if (on_device && parts == 0 && !model.whole_batches()) return std::make_unique<DeviceStep>(model, optimiser);
  return std::make_unique<HostStep>(model, optimiser, job, parts);
}

double HostStep::operator()(const Task& task, const Draws& draws, double learning_rate, double clip_norm,
                            const std::function<void()>& beside) {
  using Clock = std::chrono::steady_clock;
  const double loss = gradients_.compute(model_, task, draws, beside, profile_ ? &profile_->operations : nullptr);
  if (!std::isfinite(loss)) return loss;
  const Clock::time_point before = Clock::now();
  {
    const IgnoreStop whole;
    optimiser_.step(gradients_.parts(), learning_rate, clip_norm);
  }
  if (profile_) profile_->optimiser_ms += std::chrono::duration<double, std::milli>(Clock::now() - before).count();
  return loss;
}

}  // namespace npzoo
