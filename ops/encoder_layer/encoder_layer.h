#pragma once

#include "npzoo/ops/transformer_layer/transformer_layer.h"

namespace npzoo {

/// A transformer layer with the projections of its keys and values.
struct EncoderLayerWeights {
  TransformerLayerWeights layer;
  WeightAndBias key, value;  // (E, E), (E)
};

/// A transformer layer over points x (B, N, E), of which the first `keys` are keys and values for all of them: `mask`
/// says which of these a row sees. Pre-norm layers project keys and values from normalised points.
///
/// On a GPU, float32 points of width 64 with heads of 16 or 32, at most 128 keys, F a multiple of 16 and enough shared
/// memory pass through the layer in one kernel, as in `transformer_layer`. Then the operation saves its arguments; the
/// backward pass is one kernel that computes the layer again, and one that sums the gradients of weights over blocks of
/// rows, in a fixed order. Other forms are composed of `linear`, `layer_norm` and `transformer_layer`.
Tensor encoder_layer(const Tensor& x, std::int64_t keys, const PrefixMask& mask, const EncoderLayerWeights& weights,
                     const TransformerLayerOptions& options);

/// True if the layer is one kernel for points of shape `x`, of the weights' dtype and device.
bool encoder_layer_is_fused(const Shape& x, std::int64_t keys, const EncoderLayerWeights& weights,
                            const TransformerLayerOptions& options);

}  // namespace npzoo
