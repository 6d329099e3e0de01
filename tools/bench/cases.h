#pragma once

#include "npzoo/models/registry.h"
#include "npzoo/models/training/host_step.h"
#include "tools/cli/common_options.h"

namespace npzoo::tools {

/// A model, a batch of one fixed size and the seed of both. Sizes that are not given are the typical ones of the
/// protocol: its batch, and as context the middle of the range of sizes; where targets are further points, half of all
/// points, or the size in that range which is nearest.
struct BenchCase {
  ProtocolOptions protocol;
  std::string model;
  std::optional<std::int64_t> batch, context, targets;
  std::uint64_t seed = 0;
};

/// Standard normal points of the case's sizes, or the model's places next to them; every context is full.
Task typical_task(const Model& model, const Protocol& protocol, const BenchCase& c);

/// Updates of a model in training, all on one task and with the learning rate of the first.
class TrainStep {
 public:
  TrainStep(const Protocol& protocol, const BenchCase& c);

  /// One update; returns the loss before it. What it costs is added to `profile` where there is one.
  double operator()(StepProfile* profile = nullptr);

  double learning_rate() const;
  /// The random numbers of every update.
  std::vector<Tensor> drawn() const;
  Model& model() const { return *model_; }
  const Task& task() const { return task_; }

 private:
  TrainingConfig config_;
  std::unique_ptr<Model> model_;
  Optimiser optimiser_;
  std::unique_ptr<TrainingStep> step_;
  HostStep profiled_;
  Task task_;
  Draws draws_;
};

/// Predictions of a model, all of one task.
class Forward {
 public:
  Forward(const Protocol& protocol, const BenchCase& c);

  Marginals operator()() const;
  /// Mean negative log-likelihood of the targets.
  double loss() const;

  Model& model() const { return *model_; }
  const Task& task() const { return task_; }

 private:
  std::unique_ptr<ContextState> encoded() const;

  std::unique_ptr<Model> model_;
  Task task_;
  Draws draws_;
};

}  // namespace npzoo::tools
