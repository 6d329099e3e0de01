#pragma once

#include "engine/cpu/context.h"
#include "engine/cuda/context.h"
#include "engine/rank.h"

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

template <class T, Isa isa>
void broadcast_copy(CpuContext<isa>& cpu, const BroadcastCopy<T>& p);
template <class T, Gpu gpu>
void broadcast_copy(CudaContext<gpu>& cuda, const BroadcastCopy<T>& p);

}  // namespace npzoo
