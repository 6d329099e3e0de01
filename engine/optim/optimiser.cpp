#include "engine/optim/optimiser.h"

#include <algorithm>
#include <cmath>
#include <new>

#include "engine/backend.h"
#include "engine/cuda/transfer.h"
#include "engine/optim/optimiser_kernels.h"

namespace npzoo {

namespace {

/// Optax starts both of Yogi's moments here.
constexpr double kYogiMoment = 1e-6;

constexpr std::int64_t kStretch = 1 << 14;  // elements that are worth handing to another thread

/// What an unfinished recording, a checkpoint or a user still holds must not change under them. True where it was so.
bool make_unique(Tensor& tensor) {
  if (tensor.unique()) return false;
  const Variable variable = tensor.variable();
  tensor = tensor.clone();
  tensor.set_variable(variable);
  return true;
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
  run(parameters_.front().parameter->value, [&]<class T>(auto& context) {
    std::vector<const T*> pointers;
    std::vector<Stretch<T>> stretches;
    std::vector<std::size_t> first_pointer;  // of each stretch
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      Tensor& value = parameters_[i].parameter->value;
      const std::size_t first = pointers.size();
      for (const Grads* part : gradients)
        if (const Tensor& gradient = part->find(value); gradient.defined()) pointers.push_back(gradient.data<T>());
      if (pointers.size() == first) continue;
      for (std::int64_t begin = 0; begin < value.numel(); begin += kStretch) {
        const std::span<const T* const> parts(static_cast<const T* const*>(nullptr), pointers.size() - first);
        stretches.push_back({begin, std::min(value.numel(), begin + kStretch), parts, value.data<T>(),
                             moments_[i].first.data<T>(), moments_[i].second.data<T>()});
        first_pointer.push_back(first);
      }
    }
    const std::size_t table = stretches.size() * sizeof(Stretch<T>);
    const Buffer memory =
        device() == Device::cpu ? Buffer() : Buffer(table + pointers.size() * sizeof(const T*), device());
    const T* const* const at = placed(pointers, memory, table);
    for (std::size_t i = 0; i < stretches.size(); ++i)
      stretches[i].gradients = {at + first_pointer[i], stretches[i].gradients.size()};
    f.template operator()<T>(context, std::span<const Stretch<T>>(placed(stretches, memory, 0), stretches.size()));
  });
}

double Optimiser::global_norm(GradientParts gradients) {
  double squares = 0;
  run_on_stretches(gradients, [&]<class T>(auto& context, std::span<const Stretch<T>> stretches) {
    Tensor each = Tensor::empty({std::ssize(stretches)}, DType::float64, device());
    squared_norms<T>(context, {stretches, each.data<double>()});
    const Tensor here = each.to(Device::cpu);
    for (const double square : here.values<double>()) squares += square;
  });
  return std::sqrt(squares);
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
    scalars_ = device() == Device::cpu ? Tensor::empty({kCount}, DType::float64, Device::cpu)
                                       : Tensor::pinned({kCount}, DType::float64);
  } else if (device() != Device::cpu && !gpu_runtime().passed(last_read_)) {
    gpu_runtime().synchronise();
  }
  new (scalars_.raw().data())
      StepScalars{1, learning_rate, 1 - std::pow(config_.beta1, t), 1 - std::pow(config_.beta2, t)};
}

void Optimiser::apply(GradientParts gradients, double clip_norm, const Tensor& loss) {
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    Tensor& value = parameters_[i].parameter->value;
    if (std::ranges::none_of(gradients, [&](const Grads* part) { return part->find(value).defined(); })) continue;
    for (Tensor* tensor : {&value, &moments_[i].first, &moments_[i].second}) make_unique(*tensor);
  }
  Tensor there = scalars_.to(device());
  if (device() != Device::cpu) last_read_ = gpu_runtime().mark();
  auto* const scalars = reinterpret_cast<StepScalars*>(there.data<double>());
  run_on_stretches(gradients, [&]<class T>(auto& context, std::span<const Stretch<T>> stretches) {
    if (clip_norm > 0) {
      Tensor squares = Tensor::empty({std::ssize(stretches)}, DType::float64, device());
      squared_norms<T>(context, {stretches, squares.data<double>()});
      clip_gradients(context, {squares.numel(), squares.data<double>(), clip_norm, scalars});
    }
    if (loss.defined())
      if constexpr (requires { context.stream; }) skip_unless_finite<T>(context, {loss.data<T>(), scalars});
    if (config_.name == "yogi")
      return yogi_update<T>(context, {stretches, scalars, config_.beta1, config_.beta2, config_.epsilon});
    adam_update<T>(context, {stretches, scalars, config_.beta1, config_.beta2, config_.epsilon, config_.weight_decay,
                             config_.name == "adamw"});
  });
}

void Optimiser::step(GradientParts gradients, double learning_rate, double clip_norm) {
  begin_step(learning_rate);
  apply(gradients, clip_norm);
}

}  // namespace npzoo
