#pragma once

#include "npzoo/engine/kernel.h"
#include "npzoo/ops/masked_attention/kernels.h"

namespace npzoo {

/// Weight (out, in) and bias (out) of a linear layer, or gain and bias of a normalisation.
template <class T>
struct LayerWeights {
  const T* weight;
  const T* bias;
};

template <class T>
struct TransformerLayerForward {
  AttentionForward<T> attention;  // its queries, output and log-sum-exps are null
  std::int64_t width, hidden;
  bool pre_norm, gelu;
  T eps;
  LayerWeights<T> query, out, expand, contract, norm1, norm2;
  const T* x;  // (batch, queries, width)
  T* result;   // the same
};

/// For float32, widths 64 and 128, heads of 16 or 32, hidden layers of a multiple of 16.
NPZOO_CUDA_KERNEL(transformer_layer_forward, TransformerLayerForward);

}  // namespace npzoo
