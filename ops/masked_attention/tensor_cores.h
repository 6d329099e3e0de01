#pragma once

#include "npzoo/engine/cuda/device_code.h"
#include "npzoo/ops/masked_attention/kernels.h"

namespace npzoo {

/// Attention in float32 whose products are made on tensor cores, from factors rounded as `matmul_precision()` says: in
/// float32 by three products of TF32. Softmax and sums stay in float32. For dot products of heads of one width, a
/// multiple of 8 up to 128, without biases. Returns false and does nothing for others.
bool attention_forward_on_tensor_cores(Cuda& cuda, const AttentionForward<float>& p);
bool attention_backward_on_tensor_cores(Cuda& cuda, const AttentionBackward<float>& p);

}  // namespace npzoo
