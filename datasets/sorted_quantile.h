#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

namespace npzoo {

/// Returns the value a share `p` (0 … 1) of the way through sorted values, at least one; between two of them in
/// proportion.
inline double sorted_quantile(std::span<const double> sorted, double p) {
  const double at = p * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (at - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

}  // namespace npzoo
