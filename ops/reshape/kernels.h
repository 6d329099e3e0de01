#pragma once

#include "npzoo/engine/kernel.h"
#include "npzoo/engine/rank.h"

namespace npzoo {

/// Repeated axes have stride 0. Neighbouring axes are merged, so the last one has stride 1 or 0 and is as long as can
/// be.
template <class T>
struct BroadcastCopy {
  int rank;  // at least 1
  std::int64_t extent[kMaxRank], stride[kMaxRank];
  const T* x;
  T* out;
};

NPZOO_KERNEL(broadcast_copy, BroadcastCopy);

}  // namespace npzoo
