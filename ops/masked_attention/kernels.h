#pragma once

#include "npzoo/engine/kernel.h"
#include "npzoo/ops/masked_attention/attention_score.h"
#include "npzoo/ops/masked_attention/prefix_rule.h"

namespace npzoo {

template <class T>
struct AttentionForward {
  std::int64_t batch, queries, keys, heads, width, value_width;  // widths of one head
  double scale;
  AttentionScore score;
  PrefixRule mask;
  const T* q;
  const T* k;
  const T* v;
  T* out;
  /// (batch, heads, queries): log₂ Σ 2^(log₂e · score), in base 2, which the kernels compute with. −∞ for rows that see
  /// no key.
  T* log2_sum;
};

template <class T>
struct AttentionBackward {
  AttentionForward<T> forward;
  const T* d_out;
  const T* d_log_sum;  // gradient of the natural log-sum-exp, (batch, heads, queries), or null
  T* d_q;
  T* d_k;
  T* d_v;
};

NPZOO_KERNEL(attention_forward, AttentionForward);
NPZOO_KERNEL(attention_backward, AttentionBackward);

}  // namespace npzoo
