#pragma once

#include <algorithm>
#include <cstdint>

namespace npzoo::gemm_plan {

inline constexpr std::int64_t kChunkFlops = 1 << 20;  // work that is worth handing to another thread

/// Items in a chunk of work for a thread, when each costs `flops`.
constexpr std::int64_t chunk_of(std::int64_t flops) {
  return std::max<std::int64_t>(kChunkFlops / std::max<std::int64_t>(flops, 1), 1);
}

/// Into how many slices the sum over k of a product (m, k) (k, n) is cut, for threads to share; 1 if rows or columns
/// are the better way to share the work. Depends on the extents alone, since it decides the order of the sum.
constexpr std::int64_t slices_of(std::int64_t m, std::int64_t n, std::int64_t k) {
  constexpr std::int64_t kLargestC = 1 << 16, kLargestPartial = 1 << 19, kShallowest = 128, kMost = 64;
  if (m * n > kLargestC || k < 4 * std::max(m, n)) return 1;
  return std::min(k / std::max(kShallowest, chunk_of(2 * m * n)), std::min(kMost, kLargestPartial / (m * n)));
}

}  // namespace npzoo::gemm_plan
