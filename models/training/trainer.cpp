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

Trainer::Trainer(TrainingRun run, int loader_threads)
    : run_(std::move(run)),
      model_(make_model(run_.spec, {.seed = run_.seed})),
      optimiser_(run_.protocol.training.optimiser, named_parameters(*model_)),
      sampler_(std::make_unique<GpSampler>(training_data(run_))),
      loader_(std::make_unique<BatchLoader>(*sampler_, 0, loader_threads)) {}

Trainer::Trainer(const Checkpoint& c, int loader_threads) : Trainer(c.run, 0) {
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
  loader_ = std::make_unique<BatchLoader>(*sampler_, static_cast<std::uint64_t>(c.step), loader_threads);
}

double Trainer::learning_rate() const {
  const TrainingConfig& t = run_.protocol.training;
  return npzoo::learning_rate(t.schedule, t.optimiser.lr, steps_done_, t.steps);
}

double Trainer::step() {
  const Task task = loader_->next();
  model_->begin_step(steps_done_);
  Recording on(tape_);
  for (const auto& [name, parameter] : optimiser_.parameters()) tape_.watch(parameter->value);
  const Tensor loss = model_->loss(task);
  const double value = loss.item();
  check(std::isfinite(value), "[train] the loss became {} in step {}; a lower learning rate may help", value,
        steps_done_ + 1);
  optimiser_.step(tape_.backward(loss), learning_rate(), run_.protocol.training.clip_norm);
  ++steps_done_;
  return value;
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
