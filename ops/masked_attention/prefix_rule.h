#pragma once

#include <cstdint>

#include "npzoo/engine/cuda/device_function.h"

namespace npzoo {

/// A PrefixMask as kernels read it.
struct PrefixRule {
  std::int64_t first = 0;                // keys that row 0 sees, where there are no counts
  std::int64_t growth = 0;               // further ones for each row
  std::int64_t skipped = 0;              // keys before the first one at hand
  const std::int64_t* counts = nullptr;  // of each batch element, or of each row
  std::int64_t batch_stride = 0, row_stride = 0;

  /// The number of keys, out of `keys`, that row `query` of batch element `batch` sees.
  NPZOO_DEVICE std::int64_t visible(std::int64_t batch, std::int64_t query, std::int64_t keys) const {
    const std::int64_t count = (counts ? counts[batch * batch_stride + query * row_stride] : first) + growth * query;
    return count < skipped ? 0 : count - skipped < keys ? count - skipped : keys;
  }
};

}  // namespace npzoo
