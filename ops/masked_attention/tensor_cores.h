#pragma once

#include "npzoo/ops/masked_attention/kernels.h"

namespace npzoo {

/// Attention in float32 whose products are made on tensor cores, from factors rounded as `matmul_precision()` says;
/// softmax and sums stay in float32. For dot products of heads of one width, a multiple of 8 up to 128. Returns false
/// and does nothing for others, and where the precision is float32.
template <Gpu gpu>
bool attention_forward_on_tensor_cores(CudaContext<gpu>& cuda, const AttentionForward<float>& p);
template <Gpu gpu>
bool attention_backward_on_tensor_cores(CudaContext<gpu>& cuda, const AttentionBackward<float>& p);

}  // namespace npzoo
