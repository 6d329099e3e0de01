#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <vector>

#include "npzoo/datasets/task_source.h"
#include "npzoo/engine/precision.h"
#include "npzoo/engine/ranks/job.h"
#include "npzoo/models/numerical_events.h"
#include "npzoo/models/training/checkpoint.h"
#include "npzoo/models/training/training_step.h"
#include "npzoo/models/trials/trial.h"

namespace npzoo {

/// One training run, step by step. It is a function of the run's description: thread counts, pauses and restarts from a
/// checkpoint change no bit of it. Model and data are on the device, and products have the precision, that were the
/// default when it was made. Several trainers may be used at the same time, each on one thread at a time.
class Trainer {
 public:
  /// The ranks of `job`, which must outlive it, share the work of each step and of each validation; null: this process
  /// does all of it. They all make the same steps and have the same weights, to the bit, as one process alone would.
  explicit Trainer(const TrainingRun& run, Job* job = nullptr);
  /// Continues from a checkpoint.
  explicit Trainer(const Checkpoint& checkpoint, Job* job = nullptr);
  Trainer(const Trainer&) = delete;
  Trainer& operator=(const Trainer&) = delete;

  /// Makes one update; returns the loss before it. Meanwhile the next batch is made. If the step throws, weights,
  /// moments, running statistics, random features and the number of steps are as before: the step can be repeated.
  /// Throws Error if the loss or its gradients are not finite, Interrupted after a stop request (StopScope).
  double step();
  /// Scores the present weights on the run's validation batches and keeps them if they are the best so far. Calls
  /// `progress` with the number of batches done. Throws Error if the score is not finite.
  double validate(const std::function<void(std::int64_t done)>& progress = {});
  /// Returns the figures at the context of the last validation. Empty unless the protocol has `validation.at_context`.
  const std::vector<LossTerm>& further_validation() const { return further_validation_; }
  /// Returns the number of batches of a validation.
  std::int64_t validation_batches() const;
  /// Throws Error unless the present weights give the next batch a finite loss. Call it before saving a checkpoint.
  void check_usable();
  /// Returns the parts of the loss of the present weights on the next batch that records keep.
  std::vector<LossTerm> loss_terms();

  std::int64_t steps_done() const { return steps_done_; }
  bool finished() const { return steps_done_ >= run_.protocol.training.steps; }
  double learning_rate() const;  // of the next update

  const TrainingRun& run() const { return run_; }
  Device device() const { return tasks_->device(); }
  /// Returns the model in training. `step` changes it: use it on the trainer's thread, between steps.
  const Model& model() const { return *model_; }
  /// Returns a copy of the model with the present weights, for any thread.
  std::unique_ptr<Model> snapshot() const;
  std::int64_t best_step() const { return best_step_; }
  double best_log_likelihood() const { return best_log_likelihood_; }

  /// Returns the present state, on the CPU. It shares tensors with the trainer, which copies them before it changes
  /// them.
  Checkpoint checkpoint() const;

 private:
  /// With random weights.
  struct Untrained {};
  Trainer(TrainingRun run, Untrained, Job* job);

  /// Returns the draws of update number `steps_done_`.
  Draws draws() const { return {run_.seed, Purpose::training, static_cast<std::uint64_t>(steps_done_)}; }
  /// Returns batch number `steps_done_`.
  const Task& next_batch();
  Task batch(std::int64_t step) const;
  double make_step(std::optional<Task>& after);
  void check_finite(const char* what, double value) const;
  SourceOptions validation_tasks() const;

  TrainingRun run_;
  const Trial& trial_;
  Precision precision_ = matmul_precision();
  std::unique_ptr<Model> model_;
  Optimiser optimiser_;
  std::unique_ptr<TaskSource> tasks_;
  std::optional<Task> next_;  // batch number steps_done_, where it has been made
  std::unique_ptr<TrainingStep> step_;
  Job* job_;
  std::int64_t steps_done_ = 0;
  std::int64_t best_step_ = -1;
  std::vector<LossTerm> further_validation_;
  double best_log_likelihood_ = -std::numeric_limits<double>::infinity();
  Weights best_weights_;
};

/// Changes the number of steps. Short runs validate on fewer batches: at most `validation.every`.
void set_steps(Protocol& protocol, std::int64_t steps);

/// Receives the progress of a training run.
class TrainObserver {
 public:
  virtual ~TrainObserver() = default;
  /// Called once, when `out` exists and accepts the run, with the number of updates made before.
  virtual void on_begin(std::int64_t /*steps_done*/) {}
  virtual void on_step(std::int64_t /*step*/, double /*loss*/) {}
  /// Called during a validation; first with none done.
  virtual void on_validation_progress(std::int64_t /*batches_done*/, std::int64_t /*batches*/) {}
  virtual void on_validation(std::int64_t /*step*/, double /*log_likelihood*/) {}
  /// Called after each step; true saves a checkpoint and ends the run early.
  virtual bool stop_requested() { return false; }
  /// Asked after each step; true saves a checkpoint.
  virtual bool checkpoint_requested() { return false; }
};

struct TrainOptions {
  std::stop_token stop{};             // a request saves a checkpoint, then `train` throws Interrupted
  std::filesystem::path out;          // receives metrics.jsonl, checkpoint.safetensors …
  std::int64_t checkpoint_every = 0;  // steps; 0: every half minute
  bool resume = false;                // continues from the checkpoint in `out`, which must be of the same run
  std::string commit{};               // of the program; the checkpoint records it
  bool tensorboard = false;           // writes an event file; a resumed run appends to it
  Job* job = nullptr;                 // ranks that train together; the first alone writes, and `out` is shared
};

struct TrainResult {
  std::int64_t steps = 0;
  double loss = 0;             // mean over the last steps
  double log_likelihood = 0;   // on the validation batches, of the weights that count
  std::int64_t best_step = 0;  // of the weights that count; 0: those that the run began with
  double seconds = 0;
  NumericalEvents events{};  // of the updates and validations made now
  std::filesystem::path checkpoint;
  bool finished = false;
};

/// Checks that two runs are the same: other settings would give a result that nothing describes. Throws Error naming
/// `path`, where `found` was, and the difference. The protocol's evaluation may have changed.
void check_same_run(const TrainingRun& asked, const TrainingRun& found, const std::string& path);

/// Trains to the end, or until the observer stops it, with validation, metrics and crash-safe checkpoints. A run that
/// keeps the best weights and begins with trained ones validates these first. The ranks of
/// a job must have the same program, run and state (Job::compare); an error or a stop of one ends all of them. After a
/// stop request it saves a checkpoint, from which a resumed run continues with the same bits, and throws Interrupted.
/// Throws Error if `out` holds a run and `resume` is off, or a different run and it is on, or foreign files (see
/// RunDirectory); and if a loss, a gradient or a score is not finite. The last checkpoint then stays, with weights that
/// give a finite loss.
TrainResult train(const TrainingRun& run, const TrainOptions& options, TrainObserver& observer);

}  // namespace npzoo
