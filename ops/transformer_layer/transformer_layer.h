#pragma once

#include "npzoo/engine/tensor.h"
#include "npzoo/ops/masked_attention/prefix_mask.h"

namespace npzoo {

/// Weight (out, in) and bias (out) of a linear layer, or gain and bias (E) of a normalisation.
struct WeightAndBias {
  Tensor weight, bias;
};

/// A transformer layer whose keys and values are given: E channels, F of them in the feed-forward network's middle.
struct TransformerLayerWeights {
  WeightAndBias query, out;        // (E, E), (E)
  WeightAndBias expand, contract;  // (F, E), (F) and (E, F), (E)
  WeightAndBias norm1, norm2;      // (E), (E)
};

struct TransformerLayerOptions {
  int heads = 1;
  /// Factor on q·k. 0 stands for 1/√D with D the width of one head.
  double scale = 0;
  bool pre_norm = false;  // normalises before attention and network; otherwise after the residual connections
  bool gelu = false;      // between the two matrices, instead of ReLU
  double eps = 1e-5;      // of the normalisations
};

/// Throws Error, opened by `[operation]`, unless a matrix, or a gain, has this shape and its bias fits it; linear
/// layers may have none. `which` names it.
void check_weight(const char* operation, const char* which, const WeightAndBias& by, const Shape& shape);
/// The same of all weights of a layer over points x (B, N, E).
void check_layer_weights(const char* operation, const Tensor& x, const TransformerLayerWeights& weights);

/// Attention to given keys and values and a feed-forward network, each with a residual connection and a normalisation.
///
/// x (B, N, E), keys and values (B, Nk, E), all of one floating-point dtype and device. Rows of x do not see each
/// other. Saves its arguments; the backward pass computes the layer again. On a GPU, float32 rows of width 64 or 128
/// with heads of 16 or 32 and F a multiple of 16 pass through all steps in registers, in one kernel. Its products have
/// the precision of `matmul_precision`; with float32 they err by 2⁻²¹. Other forms are composed of `linear`,
/// `masked_attention` and `layer_norm`.
Tensor transformer_layer(const Tensor& x, const Tensor& keys, const Tensor& values, const PrefixMask& mask,
                         const TransformerLayerWeights& weights, const TransformerLayerOptions& options);

/// True if the layer is one kernel.
bool transformer_layer_is_fused(const Tensor& x, const Tensor& keys, const Tensor& values,
                                const TransformerLayerWeights& weights, const TransformerLayerOptions& options);

}  // namespace npzoo
