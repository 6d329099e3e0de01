#pragma once

#include <cstdint>

#include "engine/cpu/context.h"

namespace npzoo {

/// One step of Adam (Kingma and Ba, "Adam: a method for stochastic optimization", 2015) on n elements, with the
/// conventions of torch.optim.Adam and AdamW:
///   g = gradient_scale · gradient  (+ weight_decay · p, or p *= 1 - learning_rate · weight_decay where decoupled)
///   m = β₁ m + (1 - β₁) g,  v = β₂ v + (1 - β₂) g²
///   p -= learning_rate · (m / bias_correction1) / (√(v / bias_correction2) + epsilon)
template <class T>
struct AdamUpdate {
  std::int64_t n;
  const T* gradient;
  T* parameter;
  T* first_moment;   // m
  T* second_moment;  // v
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

/// One step of Yogi (Zaheer et al., "Adaptive methods for nonconvex optimization", 2018) on n elements, with the
/// conventions of optax.yogi. Both moments start at 1e-6 there.
///   g = gradient_scale · gradient
///   m = β₁ m + (1 - β₁) g,  v -= (1 - β₂) sign(v - g²) g²
///   p -= learning_rate · (m / bias_correction1) / (√(v / bias_correction2) + epsilon)
template <class T>
struct YogiUpdate {
  std::int64_t n;
  const T* gradient;
  T* parameter;
  T* first_moment;   // m
  T* second_moment;  // v
  double gradient_scale = 1;
  double learning_rate;
  double beta1, beta2;
  double bias_correction1, bias_correction2;  // 1 - βᵗ at step t = 1, 2, …
  double epsilon;
};

template <class T, Isa isa>
void yogi_update(CpuContext<isa>& cpu, const YogiUpdate<T>& p);

}  // namespace npzoo
