#include "npzoo/ops/encoder_layer/encoder_layer.h"

#include <array>
#include <span>
#include <utility>
#include <vector>

#include "npzoo/engine/backend.h"
#include "npzoo/engine/measure/flops.h"
#include "npzoo/engine/tape.h"
#include "npzoo/ops/concat/concat.h"
#include "npzoo/ops/encoder_layer/kernels.h"
#include "npzoo/ops/layer_norm/layer_norm.h"
#include "npzoo/ops/linear/linear.h"
#include "npzoo/ops/masked_attention/problem.h"

namespace npzoo {

namespace {

constexpr const char* kName = "encoder_layer";
constexpr std::int64_t kFusedWidth = 64;
/// Rows of a batch that are one kernel: each block of 64 has gradients of all weights, about 134 KB.
constexpr std::int64_t kMostEncoderRows = 1 << 14;

struct EncoderArguments {
  Tensor x;
  std::int64_t keys;
  PrefixMask mask;
  EncoderLayerWeights weights;
  TransformerLayerOptions options;

  /// The parameters in the order of EncoderParameter.
  std::array<Tensor, kEncoderParameters> parameters() const {
    const auto& [query, out, expand, contract, norm1, norm2] = weights.layer;
    return {query.weight, weights.key.weight, weights.value.weight, out.weight, expand.weight, contract.weight,
            query.bias,   weights.key.bias,   weights.value.bias,   out.bias,   contract.bias, norm1.weight,
            norm1.bias,   norm2.weight,       norm2.bias,           expand.bias};
  }
  AttentionProblem problem() const {
    AttentionProblem of(kName, x, x, x, mask, {.heads = options.heads, .scale = options.scale});
    of.keys = keys;
    return of;
  }
  /// Returns the operations of the products of a forward pass.
  std::int64_t flops() const {
    const std::int64_t width = x.dim(2), hidden = weights.layer.expand.weight.dim(0);
    return problem().flops() + 4 * width * (x.shape().rows() * (width + hidden) + x.dim(0) * keys * width);
  }
  template <class T>
  EncoderLayerForward<T> arguments(T* result) const;
};

template <class T>
LayerWeights<T> pointers_of(const WeightAndBias& by) {
  return {by.weight.data<T>(), by.bias.data<T>()};
}

template <class T>
EncoderLayerForward<T> EncoderArguments::arguments(T* result) const {
  const auto& w = weights.layer;
  return {.layer = {.attention = problem().arguments<T>(x, {}, {}, {}, {}),
                    .width = x.dim(2),
                    .hidden = w.expand.weight.dim(0),
                    .pre_norm = options.pre_norm,
                    .gelu = options.gelu,
                    .eps = static_cast<T>(options.eps),
                    .query = pointers_of<T>(w.query),
                    .out = pointers_of<T>(w.out),
                    .expand = pointers_of<T>(w.expand),
                    .contract = pointers_of<T>(w.contract),
                    .norm1 = pointers_of<T>(w.norm1),
                    .norm2 = pointers_of<T>(w.norm2),
                    .x = x.data<T>(),
                    .result = result},
          .key = pointers_of<T>(weights.key),
          .value = pointers_of<T>(weights.value)};
}

Tensor fused_forward(const EncoderArguments& layer) {
  count_flops(layer.flops());
  Tensor result = Tensor::empty_like(layer.x);
  run_on_cuda(kName, layer.x, [&]<class T>(const Backend& device) {
    if constexpr (sizeof(T) == 4) encoder_layer_forward<T>(device, layer.arguments<T>(result.data<T>()));
  });
  return result;
}

void fused_backward(const EncoderArguments& layer, const Tensor& d_result, Grads& grads) {
  count_flops(2 * layer.flops());
  Tensor d_x = Tensor::empty_like(layer.x);
  run_on_cuda(kName, layer.x, [&]<class T>(const Backend& device) {
    if constexpr (sizeof(T) == 4) {
      EncoderLayerBackward<T> b{.forward = layer.arguments<T>(nullptr),
                                .d_result = d_result.data<T>(),
                                .d_x = d_x.data<T>(),
                                .d_parameters = {},
                                .accumulate = {}};
      const auto parameters = layer.parameters();
      std::array<Grads::Target, kEncoderParameters> targets{};
      for (std::size_t i = 0; i < parameters.size(); ++i) {
        if (!parameters[i].defined() || !grads.wants(parameters[i])) continue;
        targets[i] = grads.into(parameters[i]);
        b.d_parameters[i] = targets[i].grad.template data<T>();
        b.accumulate[i] = targets[i].accumulate;
      }
      encoder_layer_backward<T>(device, b);
    }
  });
  grads.add(layer.x, std::move(d_x));
}

bool has_room(std::int64_t keys, std::int64_t head_width) {
  bool enough = false;
  with_cuda([&](const Backend& device) { encoder_layer_room<float>(device, {keys, head_width, &enough}); });
  return enough;
}

Tensor composed(const EncoderArguments& layer) {
  const auto& [x, keys, mask, weights, options] = layer;
  const WeightAndBias& norm = weights.layer.norm1;
  const Tensor points = keys == x.dim(1) ? x : slice(x, 1, 0, keys);
  const Tensor entering = options.pre_norm ? layer_norm(points, norm.weight, norm.bias, options.eps) : points;
  const auto project = [&](const WeightAndBias& by) { return linear(entering, by.weight, by.bias); };
  return transformer_layer(x, project(weights.key), project(weights.value), mask, weights.layer, options);
}

}  // namespace

bool encoder_layer_is_fused(const Shape& x, std::int64_t keys, const EncoderLayerWeights& weights,
                            const TransformerLayerOptions& options) {
  const auto& [query, out, expand, contract, norm1, norm2] = weights.layer;
  const Shape square{kFusedWidth, kFusedWidth};
  for (const Tensor* each : {&query.weight, &weights.key.weight, &weights.value.weight, &out.weight})
    if (!each->defined() || each->shape() != square) return false;
  if (query.weight.device() != Device::cuda || query.weight.dtype() != DType::float32) return false;
  if (options.heads * 16 != kFusedWidth && options.heads * 32 != kFusedWidth) return false;
  return expand.weight.dim(0) % 16 == 0 && x.numel() > 0 && keys <= kMostEncoderKeys &&
         x[0] * x[1] <= kMostEncoderRows && has_room(keys, kFusedWidth / options.heads);
}

Tensor encoder_layer(const Tensor& x, std::int64_t keys, const PrefixMask& mask, const EncoderLayerWeights& weights,
                     const TransformerLayerOptions& options) {
  check_layer_weights(kName, x, weights.layer);
  check_weight(kName, "key", weights.key, {x.dim(2), x.dim(2)});
  check_weight(kName, "value", weights.value, {x.dim(2), x.dim(2)});
  check(keys >= 0 && keys <= x.dim(1), "[{}] {} keys found, expected at most the points of x {}", kName, keys,
        x.shape());
  const EncoderArguments layer{x, keys, mask, weights, options};
  const bool one_dtype = x.dtype() == weights.layer.query.weight.dtype();
  if (!one_dtype || !encoder_layer_is_fused(x.shape(), keys, weights, options)) return composed(layer);
  Tensor out = fused_forward(layer);
  std::vector<Tensor> inputs{x};
  for (Tensor& each : layer.parameters())
    if (each.defined()) inputs.push_back(std::move(each));
  record(kName, out, std::span<const Tensor>(inputs),
         [layer](const Tensor& d_out, Grads& grads) { fused_backward(layer, d_out, grads); });
  return out;
}

}  // namespace npzoo
