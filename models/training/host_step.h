#pragma once

#include "npzoo/models/training/batch_gradients.h"
#include "npzoo/models/training/training_step.h"

namespace npzoo {

/// Times of the parts of updates.
struct StepProfile {
  Profile operations;  // of all threads
  double optimiser_ms = 0;
};

/// Makes updates on the host's threads; for a model on a CUDA device, kernel by kernel, part after part. If `beside`
/// throws, makes no update.
class HostStep final : public TrainingStep {
 public:
  /// See BatchGradients of the job.
  HostStep(const Model& model, Optimiser& optimiser, Job* job = nullptr, std::int64_t parts = 0)
      : model_(model), optimiser_(optimiser), gradients_(optimiser.parameters(), job, parts) {}

  /// Adds the costs of the next updates to `profile`; null: does not measure.
  void set_profile(StepProfile* profile) { profile_ = profile; }

  double operator()(const Task& task, const Draws& draws, double learning_rate, double clip_norm,
                    const std::function<void()>& beside = {}) override;

 private:
  const Model& model_;
  Optimiser& optimiser_;
  BatchGradients gradients_;
  StepProfile* profile_ = nullptr;
};

}  // namespace npzoo
