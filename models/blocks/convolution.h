#pragma once

#include <functional>
#include <numeric>
#include <vector>

#include "npzoo/engine/init.h"
#include "npzoo/engine/module.h"
#include "npzoo/ops/convolution/convolution.h"

namespace npzoo {

/// Sizes of a convolution's weight: taps along each axis of space (one or two), and channels of all groups.
struct ConvolutionExtents {
  std::vector<std::int64_t> taps;
  std::int64_t in, out;

  Shape weight_shape(std::int64_t groups) const {
    check(groups >= 1 && in % groups == 0 && out % groups == 0,
          "[convolution] {} channels to {} cannot be cut into {} equal groups", in, out, groups);
    std::vector<std::int64_t> shape = taps;
    shape.insert(shape.end(), {in / groups, out});
    return Shape(std::span<const std::int64_t>(shape));
  }
  std::int64_t tap_count() const { return std::reduce(taps.begin(), taps.end(), std::int64_t{1}, std::multiplies{}); }
};

/// `convolution` with its weight and bias, initialised as the initialiser's framework does.
class Convolution {
 public:
  Convolution(const ConvolutionExtents& extents, const ConvolutionConfig& config, Initializer& init)
      : weight{init.convolution_weight(extents.weight_shape(config.groups))},
        bias{init.linear_bias(extents.out, extents.tap_count() * (extents.in / config.groups))},
        config_(config) {}

  Convolution(Tensor initial_weight, Tensor initial_bias, const ConvolutionConfig& config)
      : weight{std::move(initial_weight)}, bias{std::move(initial_bias)}, config_(config) {}

  static Convolution without_bias(const ConvolutionExtents& extents, const ConvolutionConfig& config,
                                  Initializer& init) {
    return Convolution(init.convolution_weight(extents.weight_shape(config.groups)), {}, config);
  }

  /// x (B, …, in) → (B, …, out)
  Tensor operator()(const Tensor& x) const { return convolution(x, weight.value, bias.value, config_); }

  void visit(ModuleVisitor& visitor) {
    visitor("weight", weight);
    visitor("bias", bias);
  }

  Parameter weight;  // (taps…, in / groups, out)
  Parameter bias;    // (out), or undefined

 private:
  ConvolutionConfig config_;
};

/// `transposed_convolution` with its weight and bias, initialised as the initialiser's framework does: torch counts the
/// outputs of an input, taps · out / groups, where the others count its inputs.
class TransposedConvolution {
 public:
  TransposedConvolution(const ConvolutionExtents& extents, const ConvolutionConfig& config, Initializer& init)
      : weight{init.convolution_weight(extents.weight_shape(config.groups), fan_in(extents, config, init))},
        bias{init.linear_bias(extents.out, fan_in(extents, config, init))},
        config_(config) {}

  TransposedConvolution(Tensor initial_weight, Tensor initial_bias, const ConvolutionConfig& config)
      : weight{std::move(initial_weight)}, bias{std::move(initial_bias)}, config_(config) {}

  static TransposedConvolution without_bias(const ConvolutionExtents& extents, const ConvolutionConfig& config,
                                            Initializer& init) {
    return TransposedConvolution(
        init.convolution_weight(extents.weight_shape(config.groups), fan_in(extents, config, init)), {}, config);
  }

  /// x (B, …, in) → (B, …, out)
  Tensor operator()(const Tensor& x) const { return transposed_convolution(x, weight.value, bias.value, config_); }

  void visit(ModuleVisitor& visitor) {
    visitor("weight", weight);
    visitor("bias", bias);
  }

  Parameter weight;  // (taps…, in / groups, out)
  Parameter bias;    // (out), or undefined

 private:
  static std::int64_t fan_in(const ConvolutionExtents& extents, const ConvolutionConfig& config,
                             const Initializer& init) {
    const std::int64_t channels = init.framework() == Framework::torch ? extents.out : extents.in;
    return extents.tap_count() * (channels / config.groups);
  }

  ConvolutionConfig config_;
};

}  // namespace npzoo
