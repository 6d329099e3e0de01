#pragma once

#include "npzoo/models/training/trainer.h"
#include "tests/models/model_fixtures.h"

// Helpers for tests of training and checkpoints.

namespace npzoo::testing {

/// A small model on one-dimensional tasks, a fraction of a millisecond a step.
struct RunOptions {
  std::int64_t steps = 20;
  std::string lr = "1e-3";
  std::string clip_norm = "1.0";
  std::string keep = "last";
  std::int64_t validate_every = 0;
  std::string model = "tnp-d";
  std::string preset = R"(
architecture = "tnp"
d_model = 8
emb_depth = 2
dim_feedforward = 12
nhead = 2
num_layers = 2
)";
};

inline TrainingRun small_run(const RunOptions& o = {}) {
  const std::string kernel = R"(kernels = [{ kind = "rbf", lengthscale = { uniform = [0.25, 0.6] }, scale = 1.0 }])";
  const std::string text = fmt::format(R"(
name = "small"
description = "for tests"
source = "npzoo"

[data]
kind = "gp"
{0}
dims = 1
domain = [-2.0, 2.0]
points = 16
shared = false
context = [2, 8]
context_per = "batch"
targets = "disjoint"
min_targets = 3
context_noise = 0.1
target_noise = 0.1
jitter = 1e-9

[training]
steps = {1}
batch_size = 4
clip_norm = {2}
keep = "{3}"
optimiser = {{ name = "adam", lr = {4}, beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8, weight_decay = 0.0 }}
schedule = {{ name = "cosine", warmup_steps = 2 }}

[validation]
every = {5}
batches = 3
seed = 0

[evaluation]
batches = 2
batch_size = 4
seed = 0
metric = "log-likelihood"

[[evaluation.tests]]
name = "rbf"
{0}

[models.{6}]{7})",
                                       kernel, o.steps, o.clip_norm, o.keep, o.lr, o.validate_every, o.model, o.preset);
  const Protocol protocol = parse_protocol(text, "small");
  return {protocol, model_spec(protocol, o.model), 7};
}

inline bool same_bits(const Weights& a, const Weights& b) {
  return std::ranges::equal(
      a, b, [](const auto& x, const auto& y) { return x.first == y.first && same_bits(x.second, y.second); });
}

inline bool same_bits(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  return std::ranges::equal(a, b, [](const Tensor& x, const Tensor& y) { return same_bits(x, y); });
}

/// All that a checkpoint holds, except how long it took.
inline bool same_state(const Checkpoint& a, const Checkpoint& b) {
  return a.run.protocol.text == b.run.protocol.text && a.run.spec == b.run.spec && a.run.seed == b.run.seed &&
         a.step == b.step && a.best_step == b.best_step && a.best_log_likelihood == b.best_log_likelihood &&
         a.loss_sum == b.loss_sum && a.loss_count == b.loss_count && same_bits(a.weights, b.weights) &&
         same_bits(a.first_moments, b.first_moments) && same_bits(a.second_moments, b.second_moments) &&
         same_bits(a.best_weights, b.best_weights);
}

/// A small run after some steps, with a best state.
inline Checkpoint trained_checkpoint() {
  Trainer trainer(small_run({.keep = "best", .validate_every = 2}));
  for (int i = 0; i < 3; ++i) trainer.step();
  trainer.validate();
  trainer.step();
  Checkpoint c = trainer.checkpoint();
  c.loss_sum = 1.0 / 3;
  c.loss_count = 4;
  c.seconds = 0.1;
  return c;
}

/// Records its calls and stops the run after a number of steps.
class StopAfter final : public TrainObserver {
 public:
  explicit StopAfter(std::int64_t steps = 0) : steps_(steps) {}

  void on_step(std::int64_t step, double loss) override {
    seen = step;
    losses.push_back(loss);
  }
  void on_validation(std::int64_t step, double log_likelihood) override { validations[step] = log_likelihood; }
  void on_validation_progress(std::int64_t done, std::int64_t batches) override {
    validation_batches.push_back(done);
    batches_to_come = batches;
  }
  bool stop_requested() override { return steps_ > 0 && seen >= steps_; }

  std::int64_t seen = 0;
  std::vector<double> losses;
  std::vector<std::int64_t> validation_batches;  // done, as they are told
  std::int64_t batches_to_come = 0;              // of the last validation
  std::map<std::int64_t, double> validations;

 private:
  std::int64_t steps_;
};

inline TrainResult train_to(const TrainingRun& run, const TrainOptions& options, std::int64_t stop_after = 0) {
  StopAfter observer(stop_after);
  return train(run, options, observer);
}

inline Checkpoint checkpoint_in(const std::filesystem::path& out) {
  return load_checkpoint(out / "checkpoint.safetensors");
}

}  // namespace npzoo::testing
