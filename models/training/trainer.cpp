#include "npzoo/models/training/trainer.h"

#include <cmath>
#include <span>

#include "npzoo/engine/boundary.h"
#include "npzoo/engine/cancellation.h"
#include "npzoo/engine/cuda/gpu.h"
#include "npzoo/engine/optim/schedule.h"
#include "npzoo/models/registry.h"
#include "npzoo/models/training/pretrained.h"

namespace npzoo {

namespace {

std::unique_ptr<TaskSource> training_tasks(const TrainingRun& run) {
  return run.protocol.data->source({.batch_size = run.protocol.training.batch_size,
                                    .seed = run.seed,
                                    .split = Split::training,
                                    .device = default_device()});
}

const TaskConfig& validation_data(const Protocol& protocol) {
  return protocol.validation_data ? *protocol.validation_data : *protocol.data;
}

Tensor copy_of(const Tensor& x, Device device) { return x.device() == device ? x.clone() : x.to(device); }

/// A copy of the tensors of a model that are not trained: running statistics, random features.
class UntrainedTensors {
 public:
  explicit UntrainedTensors(Model& model) {
    for (const auto& [name, parameter] : named_tensors(model))
      if (!parameter->trained) saved_.push_back({parameter, parameter->value, content(parameter->value)});
  }
  void put_back() const {
    for (const auto& [parameter, value, content] : saved_) {
      parameter->value = value;
      if (content.defined()) gpu_runtime().copy(parameter->value.address(), content.address(), content.bytes());
    }
  }

 private:
  struct Saved {
    Parameter* parameter;
    Tensor value, content;
  };
  /// On the host models replace such tensors; on a CUDA device they write to them, because graphs have their addresses.
  static Tensor content(const Tensor& value) { return value.device() == Device::cuda ? value.clone() : Tensor(); }

  std::vector<Saved> saved_;
};

}  // namespace

Trainer::Trainer(const TrainingRun& run, Job* job) : Trainer(run, Untrained(), job) {
  if (run_.init) assign(named_tensors(*model_), pretrained_weights(run_, *model_));
}

Trainer::Trainer(TrainingRun run, Untrained, Job* job)
    : run_(std::move(run)),
      trial_(find_trial(run_.protocol.evaluation.trial)),
      model_(make_model(run_.spec, {.seed = run_.seed})),
      optimiser_(run_.protocol.training.optimiser, named_parameters(*model_)),
      tasks_(training_tasks(run_)),
      step_(make_training_step(*model_, optimiser_, job, run_.protocol.training.parts)),
      job_(job) {}

Trainer::Trainer(const Checkpoint& c, Job* job) : Trainer(c.run, Untrained(), job) {
  const auto& parameters = optimiser_.parameters();
  assign(named_tensors(*model_), c.weights);
  for (std::size_t i = 0; i < parameters.size(); ++i)
    optimiser_.moments()[i] = {copy_of(c.first_moments.at(parameters[i].name), device()),
                               copy_of(c.second_moments.at(parameters[i].name), device())};
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

Task Trainer::batch(std::int64_t step) const {
  Task task = tasks_->task(static_cast<std::uint64_t>(step));
  check_support(model_->likelihood(), task);
  return task;
}

const Task& Trainer::next_batch() {
  if (!next_) next_ = batch(steps_done_);
  return *next_;
}

double Trainer::make_step(std::optional<Task>& after) {
  const auto beside = [&] {
    if (steps_done_ + 1 >= run_.protocol.training.steps) return;
    try {
      after = batch(steps_done_ + 1);
    } catch (...) {
      // This step does not need that batch. The next one makes it again, and throws what it throws.
    }
  };
  model_->begin_step(steps_done_);
  model_->before_step(*next_, draws());
  const double loss = (*step_)(*next_, draws(), learning_rate(), run_.protocol.training.clip_norm, beside);
  check_finite("loss", loss);
  check_finite("norm of the gradients", optimiser_.gradient_norm());
  return loss;
}

double Trainer::step() {
  const DeviceScope on(device());
  const PrecisionScope by(precision_);
  with_errors([&] { next_batch(); });
  const UntrainedTensors before(*model_);
  std::optional<Task> after;
  double loss = 0;
  try {
    loss = make_step(after);
  } catch (...) {
    const IgnoreStop whole;
    before.put_back();
    rethrow_as_error();
  }
  next_ = std::move(after);
  ++steps_done_;
  return loss;
}

void Trainer::check_finite(const char* what, double value) const {
  check(std::isfinite(value), "[train] the {} became {} in step {}; a lower learning rate may help", what, value,
        steps_done_ + 1);
}

SourceOptions Trainer::validation_tasks() const {
  return {.batch_size = run_.protocol.training.batch_size,
          .seed = run_.protocol.validation.seed,
          .split = Split::validation,
          .device = device()};
}

std::int64_t Trainer::validation_batches() const {
  return batches_of(*validation_data(run_.protocol).source(validation_tasks()), run_.protocol.validation.batches);
}

double Trainer::validate(const std::function<void(std::int64_t)>& progress) {
  return with_errors([&] {
    const DeviceScope on(device());
    const PrecisionScope by(precision_);
    const Protocol& p = run_.protocol;
    const Findings found = trial_.run(*model_, validation_data(p),
                                      {.tasks = validation_tasks(),
                                       .batches = p.validation.batches,
                                       .density = model_info(run_.spec.name).density,
                                       .headline_only = true,
                                       .at_context = p.validation.at_context,
                                       .progress = progress,
                                       .job = job_});
    const double score = found.headline().gain();
    further_validation_.clear();
    if (p.validation.at_context)
      for (const Figure& figure : std::span(found.figures).subspan(1))
        further_validation_.push_back({figure.name, figure.value.value});
    check(std::isfinite(score), "[train] the validation became {} after step {}; a lower learning rate may help", score,
          steps_done_);
    if (score > best_log_likelihood_) {
      Weights best;
      for (const auto& [name, parameter] : named_tensors(*model_)) best[name] = copy_of(parameter->value, Device::cpu);
      best_weights_.swap(best);
      best_log_likelihood_ = score;
      best_step_ = steps_done_;
    }
    return score;
  });
}

void Trainer::check_usable() {
  const DeviceScope on(device());
  const PrecisionScope by(precision_);
  const NoGrad off;
  Draws same = draws();
  const double loss = model_->loss(next_batch(), same).item();
  check(std::isfinite(loss), "[train] the loss became {} after step {}; a lower learning rate may help", loss,
        steps_done_);
}

std::vector<LossTerm> Trainer::loss_terms() {
  return with_errors([&] {
    const DeviceScope on(device());
    const PrecisionScope by(precision_);
    const NoGrad off;
    Draws same = draws();
    return model_->loss_terms(next_batch(), same);
  });
}

std::unique_ptr<Model> Trainer::snapshot() const {
  const DeviceScope on(device());
  auto copy = make_model(run_.spec, {.drawn = false});
  Weights present;
  for (const auto& [name, parameter] : named_tensors(*model_)) present[name] = parameter->value;
  assign(named_tensors(*copy), present);
  return copy;
}

Checkpoint Trainer::checkpoint() const {
  Checkpoint c;
  c.run = run_;
  c.step = steps_done_;
  c.best_step = best_step_;
  c.best_log_likelihood = best_log_likelihood_;
  c.best_weights = best_weights_;
  for (const auto& [name, parameter] : named_tensors(*model_)) c.weights[name] = parameter->value.to(Device::cpu);
  const auto& parameters = optimiser_.parameters();
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    c.first_moments[parameters[i].name] = optimiser_.moments()[i].first.to(Device::cpu);
    c.second_moments[parameters[i].name] = optimiser_.moments()[i].second.to(Device::cpu);
  }
  return c;
}

}  // namespace npzoo
