#pragma once

// CUDA's kernel language on the CPU: enough of it for the kernels of this project, and a little stricter than a GPU.
// The threads of a block are fibers that take turns at barriers, in an order that changes from launch to launch, so
// that a result which depends on the order shows. Shared memory starts as NaN. Included by device_code.h only.

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <new>
#include <type_traits>

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __restrict__ __restrict

struct dim3 {
  unsigned x = 1, y = 1, z = 1;
  constexpr dim3(unsigned x_extent = 1, unsigned y_extent = 1, unsigned z_extent = 1)
      : x(x_extent), y(y_extent), z(z_extent) {}
};

namespace npzoo::emulator {

/// The position of the running thread.
struct Position {
  dim3 thread, block, threads, blocks;
};
/// Those of the fiber and of a thread of the CPU that runs none.
extern constinit thread_local Position* fiber_position;
extern constinit thread_local Position thread_position;
inline Position& position() { return fiber_position ? *fiber_position : thread_position; }

void* shared_memory();
/// Waits for the other threads of the block, or of the warp.
void block_barrier();
void warp_barrier();
inline constexpr std::size_t kWarpSlotBytes = 64;
/// The values of the lanes of this warp in its next exchange, each in kWarpSlotBytes.
std::byte* next_warp_slots();

/// Runs `kernel` once for each thread, blocks in parallel, or notes it down while a graph is captured. `function` is
/// the one that allow_shared_memory was called for; without that, a block can have 48 KiB of shared memory, as on a
/// GPU.
void launch(const char* name, dim3 blocks, int threads, std::size_t shared, std::function<void()> kernel,
            const void* function = nullptr);
/// Lets blocks of `function` have `bytes` of shared memory. Throws Error if the device's `most` is less.
void allow_shared_memory(const char* name, const void* function, std::size_t bytes, int most);
/// The same for threads that never wait for each other.
void for_each(const char* name, std::int64_t n, std::function<void(std::int64_t, std::int64_t)> body);

/// Exchanges values within the warp: the result gives the value of any lane, until the next exchange but one.
template <class T>
auto exchange(const T& value) {
  static_assert(sizeof(T) <= kWarpSlotBytes && std::is_trivially_copyable_v<T>);
  std::byte* slots = next_warp_slots();
  std::memcpy(slots + position().thread.x % 32 * kWarpSlotBytes, &value, sizeof(T));
  warp_barrier();
  return [slots](int lane) -> const T& {
    return *std::launder(reinterpret_cast<const T*>(slots + static_cast<std::size_t>(lane) * kWarpSlotBytes));
  };
}

}  // namespace npzoo::emulator

#define threadIdx (npzoo::emulator::position().thread)
#define blockIdx (npzoo::emulator::position().block)
#define blockDim (npzoo::emulator::position().threads)
#define gridDim (npzoo::emulator::position().blocks)

inline void __syncthreads() { npzoo::emulator::block_barrier(); }
inline void __syncwarp(unsigned = 0xffffffffu) { npzoo::emulator::warp_barrier(); }

template <class T>
T __shfl_xor_sync(unsigned, T value, int mask, int = 32) {
  return npzoo::emulator::exchange(value)(static_cast<int>(threadIdx.x) % 32 ^ mask);
}
template <class T>
T __shfl_sync(unsigned, T value, int lane, int width = 32) {
  const int self = static_cast<int>(threadIdx.x) % 32;
  return npzoo::emulator::exchange(value)(self / width * width + lane % width);
}
template <class T>
T __shfl_down_sync(unsigned, T value, unsigned step, int width = 32) {
  const int self = static_cast<int>(threadIdx.x) % 32, to = self + static_cast<int>(step);
  return npzoo::emulator::exchange(value)(to / width == self / width ? to : self);
}
template <class T>
T __shfl_up_sync(unsigned, T value, unsigned step, int width = 32) {
  const int self = static_cast<int>(threadIdx.x) % 32, from = self - static_cast<int>(step);
  return npzoo::emulator::exchange(value)(from >= self / width * width ? from : self);
}
inline bool __any_sync(unsigned, bool value) {
  const auto of_lane = npzoo::emulator::exchange(value);
  bool any = false;
  for (int lane = 0; lane < 32; ++lane) any |= of_lane(lane);
  return any;
}
inline bool __all_sync(unsigned, bool value) { return !__any_sync(0xffffffffu, !value); }
inline unsigned __ballot_sync(unsigned, bool value) {
  const auto of_lane = npzoo::emulator::exchange(value);
  unsigned votes = 0;
  for (int lane = 0; lane < 32; ++lane) votes |= static_cast<unsigned>(of_lane(lane)) << lane;
  return votes;
}

inline int __popc(unsigned bits) { return std::popcount(bits); }
/// One more than the place of the lowest bit; 0 where there is none.
inline int __ffs(unsigned bits) { return bits == 0 ? 0 : std::countr_zero(bits) + 1; }

inline unsigned long long atomicAdd(unsigned long long* to, unsigned long long value) {
  return std::atomic_ref(*to).fetch_add(value, std::memory_order_relaxed);
}
/// Also orders memory: __threadfence, which sanitizers of threads do not know, does nothing here.
inline unsigned atomicAdd(unsigned* to, unsigned value) {
  return std::atomic_ref(*to).fetch_add(value, std::memory_order_acq_rel);
}
inline void __threadfence() {}

template <class T>
T __ldg(const T* from) {
  return *from;
}

/// A product with a rounding of its own.
inline double __dmul_rn(double a, double b) { return a * b; }

using std::max;
using std::min;
