#pragma once

#include "npzoo/ops/masked_attention/masked_attention.h"

namespace npzoo {

/// State of L latents after the keys that they have read. Its size does not depend on the number of keys (Feng et al.,
/// "Memory efficient neural processes via constant memory attention block", ICML 2024, section 3.2).
struct AttentionState {
  Tensor mean;         // (B, L, H·Dv): softmax(scale · q kᵀ) v; 0 if no key was seen
  Tensor log_sum_exp;  // (B, H, L): of scale · q kᵀ over the keys; −∞ where no key was seen
  /// Shares of the keys in the softmax over all keys read, in their order, (B, H, L, N), float64 on the CPU. Only for
  /// keys that were read during a KeepAttention (attention_weights.h).
  Tensor weights{};
};

/// Cross-attention that can be continued with further keys. Arguments, mask and options as in `masked_attention`, q
/// being those of the latents (B, L, H·D). Saves q, k, v and the state. Differentiable in both parts of the state.
AttentionState incremental_cross_attention(const Tensor& q, const Tensor& k, const Tensor& v, const PrefixMask& mask,
                                           const AttentionOptions& options);

/// State after the keys of both: log-sum-exps are added, means weighted. Associative and commutative up to rounding;
/// differentiable; saves both states and the result.
AttentionState merge(const AttentionState& a, const AttentionState& b);

/// `state` after more keys and values.
AttentionState absorb(const AttentionState& state, const Tensor& q, const Tensor& k, const Tensor& v,
                      const PrefixMask& mask, const AttentionOptions& options);

}  // namespace npzoo
