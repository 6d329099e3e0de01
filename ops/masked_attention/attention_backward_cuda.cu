#include "npzoo/engine/memory.h"
#include "npzoo/engine/precision.h"
#include "npzoo/ops/masked_attention/gradients_cuda.h"
#include "npzoo/ops/masked_attention/tensor_cores.h"
#include "npzoo/ops/masked_attention/wide_rows_cuda.h"

namespace npzoo {

namespace {

constexpr std::int64_t kWidestTiling = 128;

template <class T>
void clear(Cuda& cuda, std::int64_t n, T* x) {
  for_each(cuda, "clear_gradient", n, [x] __device__(std::int64_t i) { x[i] = 0; });
}

}  // namespace

template <class T>
void attention_backward(Cuda& cuda, const AttentionBackward<T>& b) {
  const bool plain = b.forward.biases.count == 0 && b.forward.scan_chunk == 0;
  if constexpr (sizeof(T) == 4)
    if (plain && matmul_precision() != Precision::float32 && attention_backward_on_tensor_cores(cuda, b)) return;
  AttentionBackward<T> simple = b;
  AttentionForward<T>& p = simple.forward;
  const std::int64_t rows = p.batch * p.heads * p.queries;
  if (p.score == AttentionScore::uniform) {  // without channels all products are 0
    clear(cuda, rows * p.width, b.d_q);
    clear(cuda, p.batch * p.heads * p.keys * p.width, b.d_k);
    p.width = 0;
  }
  const Buffer buffer(static_cast<std::size_t>(rows) * sizeof(T), Device::cuda);
  auto* means = reinterpret_cast<T*>(buffer.data());
  if (!plain || max(p.width, p.value_width) > kWidestTiling) return wide_gradients(cuda, simple, means);
  attention_query_gradients(cuda, simple, means);
  attention_key_gradients(cuda, simple, static_cast<const T*>(means));
}

NPZOO_INSTANTIATE(attention_backward, AttentionBackward);

}  // namespace npzoo
