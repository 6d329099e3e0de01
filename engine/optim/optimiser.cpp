#include "engine/optim/optimiser.h"

#include <cmath>

#include "engine/backend.h"
#include "engine/kernels.h"
#include "engine/optim/optimiser_kernels.h"

namespace npzoo {

namespace {

/// Optax starts both of Yogi's moments here.
constexpr double kYogiMoment = 1e-6;

/// What an unfinished recording, a checkpoint or a user still holds must not change under them.
void make_unique(Tensor& tensor) {
  if (tensor.unique()) return;
  const Variable variable = tensor.variable();
  tensor = tensor.clone();
  tensor.set_variable(variable);
}

}  // namespace

Optimiser::Optimiser(const OptimiserConfig& config, std::vector<NamedParameter> parameters)
    : config_(config), parameters_(std::move(parameters)) {
  const bool yogi = config_.name == "yogi";
  check(yogi || config_.name == "adam" || config_.name == "adamw",
        "[optimiser] '{}' found, expected adam, adamw or yogi", config_.name);
  check(!yogi || config_.weight_decay == 0, "[optimiser] yogi has no weight decay, found {}", config_.weight_decay);
  for (const auto& [name, parameter] : parameters_) {
    const Tensor& value = parameter->value;
    const auto moment = [&] {
      return Tensor::full(value.shape(), yogi ? kYogiMoment : 0, value.dtype(), value.device());
    };
    moments_.push_back({moment(), moment()});
  }
}

double global_norm(const std::vector<NamedParameter>& parameters, const Grads& grads) {
  double squares = 0;
  for (const auto& [name, parameter] : parameters) {
    const Tensor& gradient = grads.find(parameter->value);
    if (gradient.defined()) squares += sum_of_squares(gradient);
  }
  return std::sqrt(squares);
}

double Optimiser::step(const Grads& grads, double learning_rate, double clip_norm) {
  const double norm = global_norm(parameters_, grads);
  const double scale = clip_norm > 0 && norm > clip_norm ? clip_norm / norm : 1;
  ++steps_;
  const double correction1 = 1 - std::pow(config_.beta1, static_cast<double>(steps_));
  const double correction2 = 1 - std::pow(config_.beta2, static_cast<double>(steps_));
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    Tensor& value = parameters_[i].parameter->value;
    const Tensor& gradient = grads.find(value);
    if (!gradient.defined()) continue;
    Moments& moments = moments_[i];
    for (Tensor* tensor : {&value, &moments.first, &moments.second}) make_unique(*tensor);
    run(value, [&]<class T>(auto& device) {
      const std::int64_t n = value.numel();
      const T* g = gradient.data<T>();
      T *p = value.data<T>(), *m = moments.first.data<T>(), *v = moments.second.data<T>();
      if (config_.name == "yogi")
        return yogi_update<T>(device, {n, g, p, m, v, scale, learning_rate, config_.beta1, config_.beta2, correction1,
                                       correction2, config_.epsilon});
      adam_update<T>(device, {n, g, p, m, v, scale, learning_rate, config_.beta1, config_.beta2, correction1,
                              correction2, config_.epsilon, config_.weight_decay, config_.name == "adamw"});
    });
  }
  return norm;
}

}  // namespace npzoo
