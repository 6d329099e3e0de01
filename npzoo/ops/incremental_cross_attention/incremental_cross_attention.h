#pragma once

#include "npzoo/ops/masked_attention/masked_attention.h"

namespace npzoo {

/// What L latents have gathered from the keys they have seen, in size independent of their number (Feng et al.,
/// "Memory efficient neural processes via constant memory attention block", ICML 2024, section 3.2).
struct AttentionState {
  Tensor mean;         // (B, L, H·Dv): softmax(scale · q kᵀ) v; 0 where no key was seen
  Tensor log_sum_exp;  // (B, H, L): of scale · q kᵀ over the keys; −∞ where no key was seen
  /// Of the keys that were seen while a KeepAttention lived (attention_weights.h), in their order: their shares in the
  /// softmax over all keys seen, (B, H, L, N), float64 on the CPU.
  Tensor weights{};
};

/// Cross-attention that can go on. Arguments, mask and options as in `masked_attention`, q being those of the latents
/// (B, L, H·D). Saves q, k, v and the state. Differentiable in both parts of the state.
AttentionState incremental_cross_attention(const Tensor& q, const Tensor& k, const Tensor& v, const PrefixMask& mask,
                                           const AttentionOptions& options);

/// State after the keys of both: log-sum-exps are added, means weighted. Associative and commutative up to rounding;
/// differentiable; saves both states and the result.
AttentionState merge(const AttentionState& a, const AttentionState& b);

/// `state` after more keys and values.
AttentionState absorb(const AttentionState& state, const Tensor& q, const Tensor& k, const Tensor& v,
                      const PrefixMask& mask, const AttentionOptions& options);

}  // namespace npzoo
