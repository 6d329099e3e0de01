#pragma once

#include "npzoo/engine/module.h"
#include "npzoo/ops/layer_norm/layer_norm.h"

namespace npzoo {

class LayerNorm {
 public:
  LayerNorm(std::int64_t width, double eps)
      : weight{Tensor::full({width}, 1)}, bias{Tensor::zeros({width})}, eps_(eps) {}

  Tensor operator()(const Tensor& x) const { return layer_norm(x, weight.value, bias.value, eps_); }
  /// Normalises x + residual; returns the sum as well.
  ResidualNorm operator()(const Tensor& x, const Tensor& residual) const {
    return residual_layer_norm(x, residual, weight.value, bias.value, eps_);
  }

  double eps() const { return eps_; }

  void visit(ModuleVisitor& visitor) {
    visitor("weight", weight);
    visitor("bias", bias);
  }

  Parameter weight, bias;  // (width)

 private:
  double eps_;
};

}  // namespace npzoo
