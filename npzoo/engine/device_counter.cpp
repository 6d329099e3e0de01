#include "npzoo/engine/device_counter.h"

#include <cstddef>
#include <mutex>

#include "npzoo/engine/cuda/gpu.h"
#include "npzoo/engine/cuda/transfer.h"
#include "npzoo/engine/error.h"

namespace npzoo {

unsigned long long* DeviceCounter::on(Device device) {
  if (device == Device::cpu) return &on_cpu_;
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  if (unsigned long long* const count = on_gpu_) return count;
  GpuRuntime& gpu = gpu_runtime();
  // Not from the pool: a captured graph owns what it takes from there. A graph that captured the zeroing would repeat
  // it with each launch.
  check(!gpu.capturing(), "[{}] the first call on a device cannot be captured", where_);
  void* memory = gpu.allocate(sizeof(unsigned long long), unified_memory());
  check(memory != nullptr, "[{}] the device has no memory left", where_);
  gpu.fill(memory, 0, sizeof(unsigned long long));
  on_gpu_ = static_cast<unsigned long long*>(memory);
  return on_gpu_;
}

std::int64_t DeviceCounter::total() const {
  const unsigned long long on_cpu = std::atomic_ref(on_cpu_).load(std::memory_order_relaxed);
  unsigned long long on_gpu = 0;
  if (const unsigned long long* counter = on_gpu_)
    download(reinterpret_cast<std::byte*>(&on_gpu), reinterpret_cast<const std::byte*>(counter), sizeof(on_gpu));
  return static_cast<std::int64_t>(on_cpu + on_gpu);
}

}  // namespace npzoo
