#pragma once

#include <limits>

#include "engine/tensor.h"

namespace npzoo {

/// Which keys a query row sees: row i of batch b sees keys [0, visible(b, i)). Every mask of the models here has this
/// form, so no mask array is ever built.
class PrefixMask {
 public:
  /// Every row sees every key.
  static PrefixMask all() { return {}; }
  /// Every row sees the first `n` keys.
  static PrefixMask first(std::int64_t n);
  /// Row i sees the first `n` + i keys: with n = 1 the causal mask.
  static PrefixMask growing(std::int64_t n);
  /// `counts` (B) int64: rows of batch b see counts[b] keys. (B, Nq): each row has its own count. Undefined: `all`.
  static PrefixMask lengths(const Tensor& counts);

  /// Throws Error unless the mask fits `batch` × `queries` rows.
  void check_fits(std::int64_t batch, std::int64_t queries) const;
  std::int64_t visible(std::int64_t batch, std::int64_t query, std::int64_t keys) const;

 private:
  std::int64_t first_ = std::numeric_limits<std::int64_t>::max() / 2;
  std::int64_t growth_ = 0;
  Tensor counts_;
};

struct AttentionOptions {
  int heads = 1;
  /// Factor on q·k. 0 stands for 1/√D with D the width of one head.
  double scale = 0;
};

/// Multi-head attention softmax(scale · q kᵀ) v over the visible keys; heads are D consecutive channels each.
///
/// q (B, Nq, H·D), k (B, Nk, H·D), v (B, Nk, H·Dv) → (B, Nq, H·Dv); float32 or float64. A row that sees no key gives 0
/// and takes no gradient. Keys and values that no row sees may be NaN. Saves q, k, v and the attention weights
/// (B, H, Nq, Nk); without a recording, memory is one block of weights a thread.
Tensor masked_attention(const Tensor& q, const Tensor& k, const Tensor& v, const PrefixMask& mask,
                        const AttentionOptions& options);

}  // namespace npzoo
