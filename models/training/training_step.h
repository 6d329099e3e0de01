#pragma once

#include <functional>
#include <memory>

#include "npzoo/engine/optim/optimiser.h"
#include "npzoo/engine/ranks/job.h"
#include "npzoo/models/model.h"

namespace npzoo {

/// Updates of a model by an optimiser.
class TrainingStep {
 public:
  virtual ~TrainingStep() = default;

  /// One update on a batch; returns the loss before it. Parameters stay as they are, and the optimiser counts no step,
  /// where the loss or the gradients' norm (`Optimiser::gradient_norm`) is not finite, and after an error of its own.
  /// Calls `beside` once, while there is work for others.
  virtual double operator()(const Task& task, const Draws& draws, double learning_rate, double clip_norm,
                            const std::function<void()>& beside = {}) = 0;
};

/// For the default device: HostStep or DeviceStep. Model, optimiser and job must outlive it. Batches have so many
/// `parts`, or as many as BatchGradients chooses for 0. Throws Error if several ranks are to share batches of one part.
std::unique_ptr<TrainingStep> make_training_step(Model& model, Optimiser& optimiser, Job* job = nullptr,
                                                 std::int64_t parts = 0);

}  // namespace npzoo
