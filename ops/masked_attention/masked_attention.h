#pragma once

#include "npzoo/ops/masked_attention/attention_score.h"
#include "npzoo/ops/masked_attention/prefix_mask.h"

namespace npzoo {

struct AttentionOptions {
  int heads = 1;
  /// 0 stands for 1/√D with D the width of one head, for laplace for 1.
  double scale = 0;
  AttentionScore score = AttentionScore::dot_product;
  /// Above 0: the weights are those of dl4bi's scan over chunks of so many keys, which differ from a softmax where all
  /// scores of a row are far below 0 (see kScanEpsilon). A chunk without divisors near 64 is slow.
  std::int64_t scan_chunk = 0;
};

/// Multi-head attention softmax(score(q, k)) v over the visible keys; heads are D consecutive channels each.
///
/// q (B, Nq, H·D), k (B, Nk, H·D), v (B, Nk, H·Dv) → (B, Nq, H·Dv); float32 or float64. A row that sees no key gives 0
/// and takes no gradient. Keys and values that a row does not see may be NaN. No array of Nq × Nk is ever built (Dao et
/// al., "FlashAttention", NeurIPS 2022; Rabe and Staats, 2021): saves q, k, v, the output and one log-sum-exp a row and
/// head. The gradient of laplace where q = k is 0.
Tensor masked_attention(const Tensor& q, const Tensor& k, const Tensor& v, const PrefixMask& mask,
                        const AttentionOptions& options);

}  // namespace npzoo
