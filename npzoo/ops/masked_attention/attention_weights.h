#pragma once

#include "npzoo/ops/masked_attention/masked_attention.h"

namespace npzoo {

/// What `masked_attention` weighs values by, softmax(score(q, k)): (B, H, Nq, Nk), 0 for keys that a row does not see.
/// A row's weights add up to 1, or are all 0 where it sees no key. Float64 on the CPU, computed in double, not
/// recorded; for those who look at attention, since it is the array that the operation itself never builds.
///
/// q (B, Nq, H·D), k (B, Nk, H·D). Keys that a row does not see may be NaN.
Tensor attention_weights(const Tensor& q, const Tensor& k, const PrefixMask& mask, const AttentionOptions& options);

/// While one lives, attention on its thread keeps what its weights are told by: an AttentionState its weights, and
/// linear attention its keys. Results are the same.
class KeepAttention {
 public:
  KeepAttention();
  ~KeepAttention();
  KeepAttention(const KeepAttention&) = delete;
  KeepAttention& operator=(const KeepAttention&) = delete;

  static bool on();
};

}  // namespace npzoo
