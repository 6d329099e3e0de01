#pragma once

// How kernel sources start their kernels. Included by them only.

#include "npzoo/engine/cuda/device_code.h"
#include "npzoo/engine/cuda/grid.h"

namespace npzoo {

/// Throws Error if the last launch was refused. Waits for its end if the context is blocking.
void check_launch(const CudaContext<Gpu::nvidia>& cuda, const char* kernel);
/// Lets blocks of `kernel` have `bytes` of dynamic shared memory. Throws Error, with both numbers, if that is more than
/// a block of this device can have.
void allow_shared_memory(const CudaContext<Gpu::nvidia>& cuda, const char* name, const void* kernel, std::size_t bytes);

namespace {

/// Bytes of dynamic shared memory that a block has by default: on every device, and on the emulated one.
constexpr std::size_t kSharedUnasked = 48 * 1024;

/// Starts `kernel` on `grid` blocks of `threads` threads, with `shared` bytes of dynamic shared memory. An empty grid
/// does nothing. Throws Error, and starts nothing, if the device cannot count the blocks.
template <class... Parameters, class... Arguments>
void launch(Cuda& cuda, const char* name, void (*kernel)(Parameters...), const Grid& grid, int threads,
            std::size_t shared, const Arguments&... arguments) {
  if (grid.x == 0 || grid.y == 0 || grid.z == 0) return;
  check_grid(name, grid);
  const dim3 blocks(static_cast<unsigned>(grid.x), static_cast<unsigned>(grid.y), static_cast<unsigned>(grid.z));
  const void* const address = reinterpret_cast<const void*>(kernel);
#ifdef __CUDACC__
  if (shared > kSharedUnasked) allow_shared_memory(cuda, name, address, shared);
  kernel<<<blocks, threads, shared, cuda.stream>>>(arguments...);
  check_launch(cuda, name);
#else
  if (shared > kSharedUnasked) emulator::allow_shared_memory(name, address, shared, cuda.shared_bytes);
  emulator::launch(
      name, blocks, threads, shared, [kernel, arguments...] { kernel(static_cast<Parameters>(arguments)...); },
      address);
#endif
}

constexpr int kFlatThreads = 256;

/// One thread does several elements, so that no more blocks are started than the device works on at a time.
inline std::int64_t flat_blocks(const Cuda& cuda, std::int64_t n) {
  const std::int64_t blocks = divide_up(n, kFlatThreads), most = std::int64_t{cuda.multiprocessors} * 16;
  return blocks < most ? blocks : most;
}

template <class F>
__global__ void __launch_bounds__(kFlatThreads) for_each_kernel(std::int64_t n, F f) {
  const std::int64_t step = std::int64_t{gridDim.x} * blockDim.x;
  for (std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += step) f(i);
}

/// Calls f(i) for every i in [0, n), in any order. `f` is copied to the device: it captures by value.
template <class F>
void for_each(Cuda& cuda, const char* name, std::int64_t n, const F& f) {
#ifdef __CUDACC__
  launch(cuda, name, for_each_kernel<F>, flat_blocks(cuda, n), kFlatThreads, 0, n, f);
#else
  static_cast<void>(cuda);
  emulator::for_each(name, n, [f](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) f(i);
  });
#endif
}

}  // namespace

}  // namespace npzoo
