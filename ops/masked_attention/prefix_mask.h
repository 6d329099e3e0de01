#pragma once

#include <algorithm>
#include <limits>

#include "engine/tensor.h"

namespace npzoo {

/// A PrefixMask as kernels read it.
struct PrefixRule {
  std::int64_t first = 0;                // keys that row 0 sees, where there are no counts
  std::int64_t growth = 0;               // further ones for each row
  std::int64_t skipped = 0;              // keys before the first one at hand
  const std::int64_t* counts = nullptr;  // of each batch element, or of each row
  std::int64_t batch_stride = 0, row_stride = 0;

  /// How many of `keys` keys row `query` of batch element `batch` sees.
  std::int64_t visible(std::int64_t batch, std::int64_t query, std::int64_t keys) const {
    const std::int64_t count = counts ? counts[batch * batch_stride + query * row_stride] : first;
    return std::clamp<std::int64_t>(count + growth * query - skipped, 0, keys);
  }
};

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

  /// The same mask as it looks when the first `n` keys are taken away.
  PrefixMask after(std::int64_t n) const;

  /// True when rows of one batch element may see different keys.
  bool varies_by_row() const { return growth_ != 0 || (counts_.defined() && counts_.rank() == 2); }

  /// Throws Error unless the mask fits `batch` × `queries` rows.
  void check_fits(std::int64_t batch, std::int64_t queries) const;
  /// Valid as long as the mask lives.
  PrefixRule rule() const;
  std::int64_t visible(std::int64_t batch, std::int64_t query, std::int64_t keys) const {
    return rule().visible(batch, query, keys);
  }

 private:
  std::int64_t first_ = std::numeric_limits<std::int64_t>::max() / 2;
  std::int64_t growth_ = 0;
  std::int64_t skipped_ = 0;
  Tensor counts_;
};

}  // namespace npzoo
