#include "npzoo/engine/optim/optimiser.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <new>
#include <utility>

#include "npzoo/engine/backend.h"
#include "npzoo/engine/cuda/transfer.h"
#include "npzoo/engine/optim/optimiser_kernels.h"

namespace npzoo {

namespace {

/// Optax starts both of Yogi's moments here.
constexpr double kYogiMoment = 1e-6;

constexpr std::int64_t kStretch = 1 << 14;  // elements that are worth handing to another thread

/// Copies a tensor that an unfinished recording, a checkpoint or a user still holds. Returns true if it was copied.
bool make_unique(Tensor& tensor) {
  if (tensor.unique()) return false;
  const Variable variable = tensor.variable();
  tensor = tensor.detach().clone();
  tensor.set_variable(variable);
  return true;
}

constexpr std::pair<OptimiserKind, std::string_view> kOptimisers[] = {{OptimiserKind::adam, "adam"},
                                                                      {OptimiserKind::keras_adam, "keras-adam"},
                                                                      {OptimiserKind::adamw, "adamw"},
                                                                      {OptimiserKind::yogi, "yogi"}};

}  // namespace

std::string_view to_string(OptimiserKind kind) {
  return std::ranges::find(kOptimisers, kind, &std::pair<OptimiserKind, std::string_view>::first)->second;
}

std::vector<std::string_view> optimiser_names() {
  std::vector<std::string_view> names;
  for (const auto& [kind, name] : kOptimisers) names.push_back(name);
  return names;
}

OptimiserKind optimiser_kind(std::string_view name) {
  for (const auto& [kind, known] : kOptimisers)
    if (name == known) return kind;
  fail("[optimiser] '{}' found, expected adam, keras-adam, adamw or yogi", name);
}

Optimiser::Optimiser(const OptimiserConfig& config, std::vector<NamedParameter> parameters)
    : config_(config), parameters_(std::move(parameters)) {
  const bool yogi = config_.kind == OptimiserKind::yogi;
  check(!(yogi || config_.kind == OptimiserKind::keras_adam) || config_.weight_decay == 0,
        "[optimiser] {} has no weight decay, found {}", to_string(config_.kind), config_.weight_decay);
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

namespace {

/// Puts an array where kernels of the device read it: on the CPU where it is, else into `memory`, from `offset` on.
template <class E>
const E* placed(const std::vector<E>& array, const Buffer& memory, std::size_t offset) {
  if (!memory) return array.data();
  const std::span bytes = std::as_bytes(std::span(array));
  upload_constant(memory.data() + offset, bytes.data(), bytes.size());
  return reinterpret_cast<const E*>(memory.data() + offset);
}

}  // namespace

Device Optimiser::device() const {
  return parameters_.empty() ? Device::cpu : parameters_.front().parameter->value.device();
}

template <class F>
void Optimiser::run_on_stretches(GradientParts gradients, F f) {
  if (parameters_.empty()) return;
  run("optimiser", parameters_.front().parameter->value, [&]<class T>(const Backend& context) {
    std::vector<const T*> pointers;
    std::vector<Stretch<T>> stretches;
    std::vector<std::pair<std::size_t, std::size_t>> ranges;  // of each stretch's pointers
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      Tensor& value = parameters_[i].parameter->value;
      const std::size_t first = pointers.size();
      for (const Grads* part : gradients)
        if (const Tensor& gradient = part->find(value); gradient.defined()) pointers.push_back(gradient.data<T>());
      if (pointers.size() == first) continue;
      for (std::int64_t begin = 0; begin < value.numel(); begin += kStretch) {
        stretches.push_back({begin,
                             std::min(value.numel(), begin + kStretch),
                             {},
                             value.data<T>(),
                             moments_[i].first.data<T>(),
                             moments_[i].second.data<T>()});
        ranges.emplace_back(first, pointers.size() - first);
      }
    }
    const std::size_t table = stretches.size() * sizeof(Stretch<T>);
    const Buffer memory =
        device() == Device::cpu ? Buffer() : Buffer(table + pointers.size() * sizeof(const T*), device());
    const T* const* const at = placed(pointers, memory, table);
    for (std::size_t i = 0; i < stretches.size(); ++i)
      stretches[i].gradients = {at + ranges[i].first, ranges[i].second};
    f.template operator()<T>(context, std::span<const Stretch<T>>(placed(stretches, memory, 0), stretches.size()));
  });
}

bool Optimiser::take_sole_ownership() {
  bool copied = false;
  for (std::size_t i = 0; i < parameters_.size(); ++i)
    for (Tensor* tensor : {&parameters_[i].parameter->value, &moments_[i].first, &moments_[i].second})
      copied |= make_unique(*tensor);
  return copied;
}

void Optimiser::begin_step(double learning_rate) {
  ++steps_;
  const auto t = static_cast<double>(steps_);
  if (!scalars_.defined()) {
    constexpr std::int64_t kCount = sizeof(StepScalars) / sizeof(double);
    const bool here = device() == Device::cpu;
    scalars_ = here ? Tensor::empty({kCount}, DType::float64, Device::cpu) : Tensor::pinned({kCount}, DType::float64);
    outcome_ = here ? scalars_ : Tensor::pinned({kCount}, DType::float64);
  }
  StepScalars scalars{1, learning_rate, 1 - std::pow(config_.beta1, t), 1 - std::pow(config_.beta2, t)};
  if (config_.kind == OptimiserKind::keras_adam)  // m / (√v + ε) · √(1 − β₂ᵗ) / (1 − β₁ᵗ)
    scalars = {1, learning_rate * std::sqrt(1 - std::pow(config_.beta2, t)), 1 - std::pow(config_.beta1, t), 1};
  new (scalars_.raw().data()) StepScalars(scalars);
}

void Optimiser::apply(GradientParts gradients, double clip_norm, const Tensor& loss) {
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    Tensor& value = parameters_[i].parameter->value;
    if (std::ranges::none_of(gradients, [&](const Grads* part) { return part->find(value).defined(); })) continue;
    for (Tensor* tensor : {&value, &moments_[i].first, &moments_[i].second}) make_unique(*tensor);
  }
  Tensor there = scalars_.to(device());
  run_on_stretches(gradients, [&]<class T>(const Backend& context, std::span<const Stretch<T>> stretches) {
    auto* const scalars = reinterpret_cast<StepScalars*>(there.data<double>());
    Tensor squares = Tensor::empty({std::ssize(stretches)}, DType::float64, device());
    const double limit = clip_norm > 0 ? clip_norm : std::numeric_limits<double>::infinity();
    judge_gradients<T>(context, {stretches, squares.data<double>(), limit, loss.data<T>(), scalars});
    if (config_.kind == OptimiserKind::yogi)
      return yogi_update<T>(context, {stretches, scalars, config_.beta1, config_.beta2, config_.epsilon});
    adam_update<T>(context, {stretches, scalars, config_.beta1, config_.beta2, config_.epsilon, config_.weight_decay,
                             config_.kind == OptimiserKind::adamw});
  });
  if (device() != Device::cpu) gpu_runtime().copy(outcome_.address(), there.address(), there.bytes());
}

bool Optimiser::end_step() {
  if (device() != Device::cpu) gpu_runtime().synchronise();
  const auto& outcome = *reinterpret_cast<const StepScalars*>(outcome_.data<double>());
  gradient_norm_ = outcome.gradient_norm;
  const bool made = outcome.skip == 0;
  if (!made) --steps_;
  return made;
}

bool Optimiser::step(GradientParts gradients, double learning_rate, double clip_norm) {
  begin_step(learning_rate);
  apply(gradients, clip_norm);
  return end_step();
}

}  // namespace npzoo
