#pragma once

#include "npzoo/ops/masked_attention/distance_bias.h"

namespace npzoo {

/// Returns the weights of `masked_attention` or `biased_attention`, softmax(score(q, k)): (B, H, Nq, Nk), 0 for keys
/// that a row does not see. A row's weights add up to 1 (those of a scan to less), or are all 0 if it sees no key.
/// Float64 on the CPU, computed in double, not recorded. It is for inspection: the operation itself never builds this
/// array.
///
/// q (B, Nq, H·D), k (B, Nk, H·D). Keys that a row does not see may be NaN.
Tensor attention_weights(const Tensor& q, const Tensor& k, const PrefixMask& mask, const AttentionOptions& options,
                         std::span<const DistanceBias> biases = {});

/// Makes attention on its thread keep its weights, as long as it lives: an AttentionState its weights, linear attention
/// its keys. Results are the same.
class KeepAttention {
 public:
  KeepAttention();
  ~KeepAttention();
  KeepAttention(const KeepAttention&) = delete;
  KeepAttention& operator=(const KeepAttention&) = delete;

  static bool on();
};

}  // namespace npzoo
