#pragma once

#include <atomic>
#include <cstdint>

#include "npzoo/engine/device.h"

namespace npzoo {

/// Counts events within kernels, on the CPU and on a CUDA device, since the program started. Static objects only: the
/// device's memory is never released.
class DeviceCounter {
 public:
  /// `where` is the operation that an error names.
  constexpr explicit DeviceCounter(const char* where) : where_(where) {}
  DeviceCounter(const DeviceCounter&) = delete;
  DeviceCounter& operator=(const DeviceCounter&) = delete;

  /// The number that kernels of `device` increase atomically. Throws Error if the first call on a CUDA device is within
  /// a capture, or if the device has no memory left.
  unsigned long long* on(Device device);
  /// Of both devices. Waits for the CUDA device.
  std::int64_t total() const;

 private:
  const char* where_;
  mutable unsigned long long on_cpu_ = 0;
  std::atomic<unsigned long long*> on_gpu_ = nullptr;  // once kernels have been given it
};

}  // namespace npzoo
