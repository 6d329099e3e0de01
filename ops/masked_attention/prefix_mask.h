#pragma once

#include <limits>
#include <memory>

#include "npzoo/engine/tensor.h"
#include "npzoo/ops/masked_attention/prefix_rule.h"

namespace npzoo {

/// The visible keys of query rows: row i of batch b sees keys [0, visible(b, i)). Every mask of the models here has
/// this form, so no mask array is ever built.
class PrefixMask {
 public:
  /// Every row sees every key.
  static PrefixMask all() { return {}; }
  /// Every row sees the first `n` keys.
  static PrefixMask first(std::int64_t n);
  /// Row i sees the first `n` + i keys: with n = 1 the causal mask.
  static PrefixMask growing(std::int64_t n);
  /// `counts` (B) int64 on the CPU: rows of batch b see counts[b] keys. (B, Nq): each row has its own count. Undefined:
  /// `all`. Throws Error for another dtype, rank or device.
  static PrefixMask lengths(const Tensor& counts);

  /// Returns the mask of the keys without the first `n`.
  PrefixMask after(std::int64_t n) const;

  /// True if rows of one batch element may see different keys.
  bool varies_by_row() const { return growth_ != 0 || (counts_.defined() && counts_.rank() == 2); }

  /// Throws Error unless the mask fits `batch` × `queries` rows.
  void check_fits(std::int64_t batch, std::int64_t queries) const;
  /// Returns the rule for kernels of `device`; valid as long as the mask lives. A CUDA device gets one copy of the
  /// counts, for all threads.
  PrefixRule rule(Device device) const;
  std::int64_t visible(std::int64_t batch, std::int64_t query, std::int64_t keys) const {
    return rule(Device::cpu).visible(batch, query, keys);
  }

 private:
  std::int64_t first_ = std::numeric_limits<std::int64_t>::max() / 2;
  std::int64_t growth_ = 0;
  std::int64_t skipped_ = 0;
  struct DeviceCounts;

  Tensor counts_;                                // on the CPU
  std::shared_ptr<DeviceCounts> device_counts_;  // the same on a CUDA device, made once for all copies of the mask
};

}  // namespace npzoo
