#pragma once

#include <atomic>
#include <cstdint>

#include "npzoo/engine/device.h"

namespace npzoo {

/// Reads and increases a number that other threads change meanwhile, without an order among other accesses.
/// std::atomic_ref does the same, but libc++ has it from version 19 on only.
inline unsigned long long read_count(const unsigned long long& count) {
  return __atomic_load_n(&count, __ATOMIC_RELAXED);
}
inline void add_to_count(unsigned long long& count, unsigned long long more) {
  __atomic_fetch_add(&count, more, __ATOMIC_RELAXED);
}

/// Counts events within kernels, on the CPU and on a CUDA device. Static objects only: the device's memory is never
/// released.
class DeviceCounter {
 public:
  /// `where` is the operation that an error names.
  constexpr explicit DeviceCounter(const char* where) : where_(where) {}
  DeviceCounter(const DeviceCounter&) = delete;
  DeviceCounter& operator=(const DeviceCounter&) = delete;

  /// Returns the number that kernels of `device` increase atomically, for the calling thread's innermost CountScope.
  /// Throws Error if the first call on a CUDA device is within a capture, or if the device has no memory left.
  unsigned long long* on(Device device);
  /// Returns the events of all threads since the program started, on both devices. Events that a CountScope counts are
  /// added when the outermost one ends. Waits for the CUDA device.
  std::int64_t total() const;

 private:
  friend class CountScope;
  /// Returns the number of all threads on the CUDA device. Waits for the device.
  unsigned long long total_on_gpu() const;

  const char* where_;
  mutable unsigned long long on_cpu_ = 0;
  std::atomic<unsigned long long*> on_gpu_ = nullptr;  // once kernels have been given it
};

/// Counts the events of one counter that the calling thread and the workers of its loops cause while the scope is
/// alive. An inner scope of the same counter adds its count to the outer one when it ends. On a CUDA device the scope
/// counts the events of all threads, because a captured graph has its counter for good.
class CountScope {
 public:
  explicit CountScope(DeviceCounter& counter);
  CountScope(const CountScope&) = delete;
  CountScope& operator=(const CountScope&) = delete;
  ~CountScope();

  /// Returns the count so far. Waits for the CUDA device.
  std::int64_t count() const;

 private:
  friend class DeviceCounter;

  DeviceCounter& counter_;
  CountScope* const outer_;
  mutable unsigned long long on_cpu_ = 0;
  const unsigned long long on_gpu_before_;
};

}  // namespace npzoo
