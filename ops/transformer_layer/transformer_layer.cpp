#include "npzoo/ops/transformer_layer/transformer_layer.h"

#include <array>
#include <utility>

#include "npzoo/engine/backend.h"
#include "npzoo/engine/measure/flops.h"
#include "npzoo/engine/tape.h"
#include "npzoo/ops/elementwise/elementwise.h"
#include "npzoo/ops/layer_norm/layer_norm.h"
#include "npzoo/ops/linear/linear.h"
#include "npzoo/ops/masked_attention/masked_attention.h"
#include "npzoo/ops/masked_attention/problem.h"
#include "npzoo/ops/transformer_layer/kernels.h"

namespace npzoo {

namespace {

constexpr const char* kName = "transformer_layer";

struct Layer {
  PrefixMask mask;
  TransformerLayerWeights weights;
  TransformerLayerOptions options;

  AttentionOptions attention() const { return {.heads = options.heads, .scale = options.scale}; }

  Tensor linear_of(const Tensor& x, const WeightAndBias& by, Activation activation = Activation::none) const {
    return linear(x, by.weight, by.bias, activation);
  }
  Tensor feed_forward(const Tensor& x) const {
    const Tensor hidden =
        options.gelu ? gelu(linear_of(x, weights.expand)) : linear_of(x, weights.expand, Activation::relu);
    return linear_of(hidden, weights.contract);
  }
  Tensor composed(const Tensor& x, const Tensor& keys, const Tensor& values) const {
    const auto& [query, out, expand, contract, norm1, norm2] = weights;
    const Tensor entering = options.pre_norm ? layer_norm(x, norm1.weight, norm1.bias, options.eps) : x;
    const Tensor attended =
        linear_of(masked_attention(linear_of(entering, query), keys, values, mask, attention()), out);
    const WeightAndBias& between = options.pre_norm ? norm2 : norm1;
    const auto [sum, normal] = residual_layer_norm(x, attended, between.weight, between.bias, options.eps);
    if (options.pre_norm) return add(sum, feed_forward(normal));
    return residual_layer_norm(normal, feed_forward(normal), norm2.weight, norm2.bias, options.eps).norm;
  }
  /// Returns all tensors of the weights, of which some may be undefined.
  std::array<Tensor, 12> tensors() const {
    const auto& w = weights;
    return {w.query.weight,    w.query.bias,    w.out.weight,   w.out.bias,   w.expand.weight, w.expand.bias,
            w.contract.weight, w.contract.bias, w.norm1.weight, w.norm1.bias, w.norm2.weight,  w.norm2.bias};
  }
};

LayerWeights<float> pointers(const WeightAndBias& by) { return {by.weight.data<float>(), by.bias.data<float>()}; }

Tensor fused(const Tensor& x, const Tensor& keys, const Tensor& values, const Layer& layer) {
  const auto& w = layer.weights;
  const std::int64_t width = x.dim(2), hidden = w.expand.weight.dim(0);
  const AttentionProblem problem(kName, x, keys, values, layer.mask, layer.attention());
  count_flops(problem.flops() + 4 * x.shape().rows() * width * (width + hidden));
  Tensor result = Tensor::empty_like(x);
  run_on_cuda(kName, x, [&]<class T>(const Backend& device) {
    if constexpr (sizeof(T) == 4)
      transformer_layer_forward<T>(device, {.attention = problem.arguments<T>(x, keys, values, {}, {}),
                                            .width = width,
                                            .hidden = hidden,
                                            .pre_norm = layer.options.pre_norm,
                                            .gelu = layer.options.gelu,
                                            .eps = static_cast<T>(layer.options.eps),
                                            .query = pointers(w.query),
                                            .out = pointers(w.out),
                                            .expand = pointers(w.expand),
                                            .contract = pointers(w.contract),
                                            .norm1 = pointers(w.norm1),
                                            .norm2 = pointers(w.norm2),
                                            .x = x.data<T>(),
                                            .result = result.data<T>()});
  });
  return result;
}

}  // namespace

void check_weight(const char* operation, const char* which, const WeightAndBias& by, const Shape& shape) {
  const bool fits = by.weight.defined() && by.weight.shape() == shape &&
                    (by.bias.defined() ? by.bias.shape() == Shape{shape[0]} : shape.rank() == 2);
  check(fits, "[{}] {} has weight {} and bias {}, expected {} and ({})", operation, which, by.weight.shape(),
        by.bias.shape(), shape, shape[0]);
}

void check_layer_weights(const char* operation, const Tensor& x, const TransformerLayerWeights& w) {
  check(x.rank() == 3, "[{}] x {} must have the axes (batch, points, channels)", operation, x.shape());
  const std::int64_t width = x.dim(2), hidden = w.expand.weight.defined() ? w.expand.weight.dim(0) : 0;
  check_weight(operation, "query", w.query, {width, width});
  check_weight(operation, "out", w.out, {width, width});
  check_weight(operation, "expand", w.expand, {hidden, width});
  check_weight(operation, "contract", w.contract, {width, hidden});
  check_weight(operation, "norm1", w.norm1, {width});
  check_weight(operation, "norm2", w.norm2, {width});
}

bool transformer_layer_is_fused(const Tensor& x, const Tensor& keys, const Tensor& values,
                                const TransformerLayerWeights& weights, const TransformerLayerOptions& options) {
  if (x.device() != Device::cuda || x.dtype() != DType::float32 || x.numel() == 0) return false;
  const std::int64_t width = x.dim(-1), hidden = weights.expand.weight.dim(0);
  if ((width != 64 && width != 128) || hidden % 16 != 0 || keys.dim(-1) != width || values.dim(-1) != width)
    return false;
  if (width != options.heads * 16 && width != options.heads * 32) return false;
  if (weights.query.weight.shape() != Shape{width, width}) return false;
  constexpr std::int64_t kMost = std::int64_t{1} << 30;  // indices of points are 32 bits wide
  return x.dim(1) < kMost && keys.dim(1) < kMost;
}

Tensor transformer_layer(const Tensor& x, const Tensor& keys, const Tensor& values, const PrefixMask& mask,
                         const TransformerLayerWeights& weights, const TransformerLayerOptions& options) {
  check_layer_weights(kName, x, weights);
  const Layer layer{mask, weights, options};
  Tensor out;
  {
    const NoGrad off;
    out = transformer_layer_is_fused(x, keys, values, weights, options) ? fused(x, keys, values, layer)
                                                                        : layer.composed(x, keys, values);
  }
  std::vector<Tensor> inputs{x, keys, values};
  for (Tensor& each : layer.tensors())
    if (each.defined()) inputs.push_back(std::move(each));
  record("transformer_layer", out, std::span<const Tensor>(inputs),
         [x, keys, values, layer](const Tensor& d_out, Grads& grads) {
           Tape tape(grads);
           Tensor again;
           {
             const Recording on(tape);
             again = layer.composed(x, keys, values);
           }
           tape.backward(again, d_out);
         });
  return out;
}

}  // namespace npzoo
