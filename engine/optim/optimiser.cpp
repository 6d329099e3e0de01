#include "engine/optim/optimiser.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "engine/backend.h"
#include "engine/optim/optimiser_kernels.h"

namespace npzoo {

namespace {

/// Optax starts both of Yogi's moments here.
constexpr double kYogiMoment = 1e-6;

constexpr std::int64_t kStretch = 1 << 14;  // elements that are worth handing to another thread

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
    const DType dtype = parameters_.front().parameter->value.dtype();
    check(value.dtype() == dtype, "[optimiser] {} is {}, {} is {}; expected one dtype", parameters_.front().name,
          to_string(dtype), name, to_string(value.dtype()));
    const auto moment = [&] {
      return Tensor::full(value.shape(), yogi ? kYogiMoment : 0, value.dtype(), value.device());
    };
    moments_.push_back({moment(), moment()});
  }
}

template <class F>
void Optimiser::run_on_stretches(GradientParts gradients, F f) {
  if (parameters_.empty()) return;
  run(parameters_.front().parameter->value, [&]<class T>(auto& device) {
    std::vector<const T*> pointers;
    pointers.reserve(parameters_.size() * gradients.size());  // so that none moves
    std::vector<Stretch<T>> stretches;
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      Tensor& value = parameters_[i].parameter->value;
      const std::size_t first = pointers.size();
      for (const Grads* part : gradients)
        if (const Tensor& gradient = part->find(value); gradient.defined()) pointers.push_back(gradient.data<T>());
      const std::span<const T* const> parts(pointers.data() + first, pointers.size() - first);
      if (parts.empty()) continue;
      for (std::int64_t begin = 0; begin < value.numel(); begin += kStretch)
        stretches.push_back({begin, std::min(value.numel(), begin + kStretch), parts, value.data<T>(),
                             moments_[i].first.data<T>(), moments_[i].second.data<T>()});
    }
    f.template operator()<T>(device, std::span<const Stretch<T>>(stretches));
  });
}

double Optimiser::global_norm(GradientParts gradients) {
  double squares = 0;
  run_on_stretches(gradients, [&]<class T>(auto& device, std::span<const Stretch<T>> stretches) {
    std::vector<double> each(stretches.size());
    squared_norms<T>(device, {stretches, each.data()});
    squares = std::accumulate(each.begin(), each.end(), 0.0);
  });
  return std::sqrt(squares);
}

void Optimiser::step(GradientParts gradients, double learning_rate, double clip_norm) {
  const double norm = clip_norm > 0 ? global_norm(gradients) : 0;
  const double scale = norm > clip_norm ? clip_norm / norm : 1;
  ++steps_;
  const double correction1 = 1 - std::pow(config_.beta1, static_cast<double>(steps_));
  const double correction2 = 1 - std::pow(config_.beta2, static_cast<double>(steps_));
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    Tensor& value = parameters_[i].parameter->value;
    if (std::ranges::none_of(gradients, [&](const Grads* part) { return part->find(value).defined(); })) continue;
    for (Tensor* tensor : {&value, &moments_[i].first, &moments_[i].second}) make_unique(*tensor);
  }
  run_on_stretches(gradients, [&]<class T>(auto& device, std::span<const Stretch<T>> stretches) {
    if (config_.name == "yogi")
      return yogi_update<T>(device, {stretches, scale, learning_rate, config_.beta1, config_.beta2, correction1,
                                     correction2, config_.epsilon});
    adam_update<T>(device, {stretches, scale, learning_rate, config_.beta1, config_.beta2, correction1, correction2,
                            config_.epsilon, config_.weight_decay, config_.name == "adamw"});
  });
}

}  // namespace npzoo
