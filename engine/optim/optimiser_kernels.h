#pragma once

#include <cstdint>
#include <span>

#include "engine/cpu/context.h"

namespace npzoo {

/// A stretch [begin, end) of a parameter. Its gradient is the sum of parts, in their order.
template <class T>
struct Stretch {
  std::int64_t begin, end;
  std::span<const T* const> gradients;
  T* parameter;
  T* first_moment;   // m
  T* second_moment;  // v
};

/// Of each stretch the sum of squares of its gradient, in double.
template <class T>
struct SquaredNorms {
  std::span<const Stretch<T>> stretches;
  double* results;
};

template <class T, Isa isa>
void squared_norms(CpuContext<isa>& cpu, const SquaredNorms<T>& p);

/// One step of Adam (Kingma and Ba, "Adam: a method for stochastic optimization", 2015) on all stretches, with the
/// conventions of torch.optim.Adam and AdamW:
///   g = gradient_scale · gradient  (+ weight_decay · p, or p *= 1 - learning_rate · weight_decay where decoupled)
///   m = β₁ m + (1 - β₁) g,  v = β₂ v + (1 - β₂) g²
///   p -= learning_rate · (m / bias_correction1) / (√(v / bias_correction2) + epsilon)
template <class T>
struct AdamUpdate {
  std::span<const Stretch<T>> stretches;
  double gradient_scale = 1;
  double learning_rate;
  double beta1, beta2;
  double bias_correction1, bias_correction2;  // 1 - βᵗ at step t = 1, 2, …
  double epsilon;
  double weight_decay = 0;
  bool decoupled_decay = false;
};

template <class T, Isa isa>
void adam_update(CpuContext<isa>& cpu, const AdamUpdate<T>& p);

/// One step of Yogi (Zaheer et al., "Adaptive methods for nonconvex optimization", 2018) on all stretches, with the
/// conventions of optax.yogi. Both moments start at 1e-6 there.
///   g = gradient_scale · gradient
///   m = β₁ m + (1 - β₁) g,  v -= (1 - β₂) sign(v - g²) g²
///   p -= learning_rate · (m / bias_correction1) / (√(v / bias_correction2) + epsilon)
template <class T>
struct YogiUpdate {
  std::span<const Stretch<T>> stretches;
  double gradient_scale = 1;
  double learning_rate;
  double beta1, beta2;
  double bias_correction1, bias_correction2;  // 1 - βᵗ at step t = 1, 2, …
  double epsilon;
};

template <class T, Isa isa>
void yogi_update(CpuContext<isa>& cpu, const YogiUpdate<T>& p);

}  // namespace npzoo
