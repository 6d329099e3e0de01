#include "npzoo/engine/device_counter.h"

#include <cstddef>
#include <mutex>

#include "npzoo/engine/call_scopes.h"
#include "npzoo/engine/cuda/gpu.h"
#include "npzoo/engine/cuda/transfer.h"
#include "npzoo/engine/error.h"

namespace npzoo {

unsigned long long* DeviceCounter::on(Device device) {
  if (device == Device::cpu) {
    for (CountScope* scope = call_scopes.counts; scope != nullptr; scope = scope->outer_)
      if (&scope->counter_ == this) return &scope->on_cpu_;
    return &on_cpu_;
  }
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

unsigned long long DeviceCounter::total_on_gpu() const {
  unsigned long long on_gpu = 0;
  if (const unsigned long long* counter = on_gpu_)
    download(reinterpret_cast<std::byte*>(&on_gpu), reinterpret_cast<const std::byte*>(counter), sizeof(on_gpu));
  return on_gpu;
}

std::int64_t DeviceCounter::total() const { return static_cast<std::int64_t>(read_count(on_cpu_) + total_on_gpu()); }

CountScope::CountScope(DeviceCounter& counter)
    : counter_(counter), outer_(call_scopes.counts), on_gpu_before_(counter.total_on_gpu()) {
  call_scopes.counts = this;
}

CountScope::~CountScope() {
  call_scopes.counts = outer_;
  add_to_count(*counter_.on(Device::cpu), on_cpu_);
}

std::int64_t CountScope::count() const {
  const unsigned long long on_cpu = read_count(on_cpu_);
  return static_cast<std::int64_t>(on_cpu + counter_.total_on_gpu() - on_gpu_before_);
}

}  // namespace npzoo
