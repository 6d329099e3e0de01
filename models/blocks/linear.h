#pragma once

#include "npzoo/engine/init.h"
#include "npzoo/engine/module.h"
#include "npzoo/ops/linear/linear.h"

namespace npzoo {

/// y = activation(x weightᵀ + bias), initialised as the initialiser's framework does.
class Linear {
 public:
  Linear(std::int64_t in, std::int64_t out, Initializer& init)
      : weight{init.linear_weight(out, in)}, bias{init.linear_bias(out, in)} {}

  Linear(Tensor initial_weight, Tensor initial_bias)
      : weight{std::move(initial_weight)}, bias{std::move(initial_bias)} {}

  static Linear without_bias(std::int64_t in, std::int64_t out, Initializer& init) {
    return Linear(init.linear_weight(out, in), {});
  }

  /// x (…, in) → (…, out)
  Tensor operator()(const Tensor& x, Activation activation = Activation::none) const {
    return linear(x, weight.value, bias.value, activation);
  }

  void visit(ModuleVisitor& visitor) {
    visitor("weight", weight);
    visitor("bias", bias);
  }

  Parameter weight;  // (out, in)
  Parameter bias;    // (out), or undefined
};

}  // namespace npzoo
