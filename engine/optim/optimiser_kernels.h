#pragma once

#include <cstdint>
#include <limits>
#include <span>

#include "npzoo/engine/kernel.h"

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

/// The scalars that change from step to step. They are in the device's memory, so that a captured step reads the new
/// values.
struct StepScalars {
  double gradient_scale = 1;
  double learning_rate = 0;
  double bias_correction1 = 1, bias_correction2 = 1;  // 1 - βᵗ at step t = 1, 2, …
  double gradient_norm = 0;                           // global, before it is scaled
  double skip = 0;                                    // 1: the step changes nothing
};

/// Computes in double the sum of squares of each stretch's gradient. Sets gradient_norm to the root of their sum,
/// gradient_scale to limit / norm if the norm is above the limit, else to 1, and skip to 1 if the norm or the loss is
/// not finite.
template <class T>
struct JudgeGradients {
  std::span<const Stretch<T>> stretches;
  double* squares;  // room for a number of each stretch
  double limit;     // infinite: the gradients stay as they are
  const T* loss;    // null: there is none
  StepScalars* scalars;
};

NPZOO_KERNEL(judge_gradients, JudgeGradients);

/// The smallest normal number. A first moment below it becomes 0. A second moment stops at twice this number, so that m
/// / √v stays defined without an epsilon.
template <class T>
constexpr T kSmallest = std::numeric_limits<T>::min();

/// Makes one step of Adam (Kingma and Ba, "Adam: a method for stochastic optimization", 2015) on all stretches, with
/// the conventions of torch.optim.Adam and AdamW:
///   g = gradient_scale · gradient  (+ weight_decay · p, or p *= 1 - learning_rate · weight_decay where decoupled)
///   m = β₁ m + (1 - β₁) g,  v = β₂ v + (1 - β₂) g²
///   p -= learning_rate · (m / bias_correction1) / (√(v / bias_correction2) + epsilon)
/// Moments do not become denormal (see kSmallest). Does nothing if the scalars say `skip`.
template <class T>
struct AdamUpdate {
  std::span<const Stretch<T>> stretches;
  const StepScalars* scalars;
  double beta1, beta2;
  double epsilon;
  double weight_decay = 0;
  bool decoupled_decay = false;
};

NPZOO_KERNEL(adam_update, AdamUpdate);

/// Makes one step of Yogi (Zaheer et al., "Adaptive methods for nonconvex optimization", 2018) on all stretches, with
/// the conventions of optax.yogi. Both moments start at 1e-6 there.
///   g = gradient_scale · gradient
///   m = β₁ m + (1 - β₁) g,  v -= (1 - β₂) sign(v - g²) g²
///   p -= learning_rate · (m / bias_correction1) / (√(v / bias_correction2) + epsilon)
/// Moments do not become denormal (see kSmallest). Does nothing if the scalars say `skip`.
template <class T>
struct YogiUpdate {
  std::span<const Stretch<T>> stretches;
  const StepScalars* scalars;
  double beta1, beta2;
  double epsilon;
};

NPZOO_KERNEL(yogi_update, YogiUpdate);

}  // namespace npzoo
