#include "models/training/trainer.h"

#include <cmath>

#include "engine/optim/schedule.h"
#include "models/registry.h"

namespace npzoo {

namespace {

GpSampler training_data(const TrainingRun& run) {
  const Protocol& p = run.protocol;
  return GpSampler(p.data, p.training.batch_size, run.seed, Split::training);
}

}  // namespace

Trainer::Trainer(TrainingRun run)
    : run_(std::move(run)),
      model_(make_model(run_.spec, {.seed = run_.seed})),
      optimiser_(run_.protocol.training.optimiser, named_parameters(*model_)),
      sampler_(training_data(run_)),
      gradients_(optimiser_.parameters()) {}

Trainer::Trainer(const Checkpoint& c) : Trainer(c.run) {
  const auto& parameters = optimiser_.parameters();
  assign(named_tensors(*model_), c.weights);
  for (std::size_t i = 0; i < parameters.size(); ++i)
    optimiser_.moments()[i] = {c.first_moments.at(parameters[i].name).clone(),
                               c.second_moments.at(parameters[i].name).clone()};
  optimiser_.set_steps(c.step);
  steps_done_ = c.step;
  best_step_ = c.best_step;
  best_log_likelihood_ = c.best_log_likelihood;
  best_weights_ = c.best_weights;
}

double Trainer::learning_rate() const {
  const TrainingConfig& t = run_.protocol.training;
  return npzoo::learning_rate(t.schedule, t.optimiser.lr, steps_done_, t.steps);
}

double Trainer::step() {
  const auto batch = [this](std::int64_t step) { return sampler_.sample(static_cast<std::uint64_t>(step)); };
  if (!next_) next_ = batch(steps_done_);
  std::optional<Task> after;
  model_->begin_step(steps_done_);
  const double loss = gradients_.compute(*model_, *next_, [&] {
    if (steps_done_ + 1 < run_.protocol.training.steps) after = batch(steps_done_ + 1);
  });
  check(std::isfinite(loss), "[train] the loss became {} in step {}; a lower learning rate may help", loss,
        steps_done_ + 1);
  optimiser_.step(gradients_.parts(), learning_rate(), run_.protocol.training.clip_norm);
  next_ = std::move(after);
  ++steps_done_;
  return loss;
}

double Trainer::validate() {
  const Protocol& p = run_.protocol;
  const GpSampler sampler(p.data, p.training.batch_size, p.validation.seed, Split::validation);
  const double score = evaluate(*model_, sampler, {.batches = p.validation.batches}).log_likelihood;
  if (score > best_log_likelihood_) {
    best_log_likelihood_ = score;
    best_step_ = steps_done_;
    for (const auto& [name, parameter] : named_tensors(*model_)) best_weights_[name] = parameter->value.clone();
  }
  return score;
}

Checkpoint Trainer::checkpoint() const {
  Checkpoint c;
  c.run = run_;
  c.step = steps_done_;
  c.best_step = best_step_;
  c.best_log_likelihood = best_log_likelihood_;
  c.best_weights = best_weights_;
  for (const auto& [name, parameter] : named_tensors(*model_)) c.weights[name] = parameter->value;
  const auto& parameters = optimiser_.parameters();
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    c.first_moments[parameters[i].name] = optimiser_.moments()[i].first;
    c.second_moments[parameters[i].name] = optimiser_.moments()[i].second;
  }
  return c;
}

}  // namespace npzoo
