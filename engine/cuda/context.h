#pragma once

#include "npzoo/engine/cuda/gpu.h"

struct CUstream_st;

namespace npzoo {

/// The context of a CUDA kernel, compiled for a kind of GPU. Kernel sources, which are compiled once for each, call
/// theirs `Cuda` (npzoo/engine/cuda/device_code.h).
template <Gpu gpu>
struct CudaContext {
  CUstream_st* stream = nullptr;
  int multiprocessors = 1;
  int shared_bytes = 0;   // of shared memory that a block can have: 227 KB on sm_90, 163 on sm_80, 99 on sm_89
  bool blocking = false;  // a launch returns when its kernel has ended
};

/// The one of this process.
template <Gpu gpu>
CudaContext<gpu>& cuda_context();

}  // namespace npzoo
