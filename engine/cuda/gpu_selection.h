#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>

#include "npzoo/engine/cuda/gpu.h"

namespace npzoo {

/// One GPU: what runs its kernels and, of NVIDIA devices, which one.
struct GpuChoice {
  Gpu gpu = Gpu::emulated;
  int index = 0;
  bool operator==(const GpuChoice&) const = default;
};

/// Returns "emulated" or "cuda:INDEX".
std::string to_string(const GpuChoice& choice);

/// The GPU of a process. It can be chosen any number of times until it is started; from then on it stays, since
/// tensors, streams and compiled plans belong to it. All functions can be called from several threads.
class GpuSelection {
 public:
  explicit GpuSelection(GpuChoice first) : choice_(first), gpu_(first.gpu) {}

  /// Throws Error, and changes nothing, if another GPU has been started.
  void choose(GpuChoice wanted);
  /// Returns what `make(choice)` returned when it was called first. If it throws, nothing has been started.
  template <class F>
  GpuRuntime& start(const F& make) {
    if (GpuRuntime* const started = runtime_.load(std::memory_order_acquire)) return *started;
    const std::lock_guard lock(mutex_);
    if (!runtime_.load(std::memory_order_relaxed)) runtime_.store(make(choice_).release(), std::memory_order_release);
    return *runtime_.load(std::memory_order_relaxed);
  }

  Gpu gpu() const { return gpu_.load(std::memory_order_relaxed); }
  bool started() const { return runtime_.load(std::memory_order_acquire) != nullptr; }

 private:
  std::mutex mutex_;
  GpuChoice choice_;                           // guarded by mutex_
  std::atomic<Gpu> gpu_;                       // that of choice_, for readers
  std::atomic<GpuRuntime*> runtime_{nullptr};  // never destroyed: static tensors may be released after it
};

/// A device as `--device` and select_device accept it.
struct DeviceName {
  enum class Kind : std::uint8_t { cpu, cuda, automatic, emulated };
  Kind kind = Kind::cpu;
  int index = 0;  // of an NVIDIA device
  bool operator==(const DeviceName&) const = default;
};

/// Parses "cpu", "cuda", "cuda:INDEX", "auto" or "emulated". Throws Error for anything else.
DeviceName parse_device(std::string_view name);

/// Throws Error unless there is a device `index` among `count` NVIDIA devices. `why_none` is the reason if there are
/// none.
void check_gpu_index(int index, std::int64_t count, std::string_view why_none);

}  // namespace npzoo
