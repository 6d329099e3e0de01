#pragma once

#include <cstdint>

#include "npzoo/engine/kernel.h"

namespace npzoo {

/// Conditionals that lie side by side, one to a lane.
inline constexpr std::int64_t kVecchiaLanes = 16;

/// Whitens values given those at near points, under the covariance
///
///   matern_3/2(r / short length) + share · exp(−r / long length) + noise at equal points, r² = dᵀ M d.
///
/// A conditional is a list of `points` points, the last of which is predicted from the others.
template <class T>
struct VecchiaWhiten {
  std::int64_t groups, points;
  const T* x;               // (groups, points, 2, lanes)
  const T* y;               // (groups, points, lanes)
  T metric[3];              // M, its two diagonal entries around the other one
  T short_rate, long_rate;  // 1 / length
  T share, noise;
  /// (groups, 4, lanes): what is left of y, 1 and both inputs at the last point, over its conditional deviation.
  T* white;
  T* log_std;  // (groups, lanes), of the conditional; NaN if there is no Cholesky factor
};

NPZOO_CPU_KERNEL(vecchia_whiten, VecchiaWhiten);

}  // namespace npzoo
