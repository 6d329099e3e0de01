#pragma once

// How the last block of a kernel finishes what all blocks have begun, in place of a second kernel. Included by kernel
// sources only.

#include "npzoo/engine/cuda/device_code.h"

namespace npzoo {

namespace {

constexpr int kTickets = 256;

/// Counts of blocks that have ended. All kernels of a source share them, since they run one after the other. The last
/// block of a kernel sets its counts back to 0.
[[maybe_unused]] __device__ unsigned tickets[kTickets];

/// Returns whether this block is the last of `blocks` that call the function with this ticket. The last one sees what
/// the others wrote before, through pointers to volatile. All threads of the block call it. `note` is in shared memory,
/// which the function overwrites.
__device__ inline bool is_last_block(int ticket, std::int64_t blocks, int* note) {
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) *note = atomicAdd(&tickets[ticket], 1u) + 1 == static_cast<unsigned>(blocks) ? 1 : 0;
  __syncthreads();
  const bool last = *note == 1;
  __syncthreads();
  if (!last) return false;
  if (threadIdx.x == 0) tickets[ticket] = 0;
  __threadfence();
  return true;
}

/// Returns the sum over the block's threads, in a fixed order. Only thread 0 may use it. Needs a double of shared
/// memory for each warp.
__device__ inline double block_sum(double x) {
  auto* sums = shared_memory<double>();
  x = warp_sum(x);
  if (lane_id() == 0) sums[warp_id()] = x;
  __syncthreads();
  double total = 0;
  for (int i = 0; i < static_cast<int>(blockDim.x) / kWarp; ++i) total += sums[i];
  return total;
}

}  // namespace

}  // namespace npzoo
