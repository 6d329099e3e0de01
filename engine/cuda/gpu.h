#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace npzoo {

/// What runs the CUDA kernels: an NVIDIA device, or an emulation of one on the CPU, which is slow and checks them where
/// there is no device.
enum class Gpu : std::uint8_t { nvidia, emulated };

std::string_view to_string(Gpu gpu);

/// Which of the two this process uses. The emulation unless `select_gpu` chose otherwise or this build has no other.
Gpu active_gpu();
/// Throws Error, saying why, where this build or machine cannot run it. Not to be called once tensors live on a GPU.
void select_gpu(Gpu gpu);

struct GpuInfo {
  std::string name;
  int major = 0, minor = 0;  // compute capability
  int multiprocessors = 0;
  std::int64_t memory_bytes = 0, free_bytes = 0;
  int shared_bytes = 0;  // of shared memory that a block can have
  std::string driver;    // version of CUDA that the driver supports
};

/// NVIDIA devices of this machine; empty without a driver, a device, or CUDA in this build.
std::vector<GpuInfo> list_gpus();
/// Why list_gpus() is empty.
std::string why_no_gpu();

/// What a captured stream of work became: it can be launched again and again, on the same memory.
class GpuGraph {
 public:
  virtual ~GpuGraph() = default;
  virtual void launch() = 0;
};

/// The services of a device that the engine needs besides kernels. Everything is done in the order of one stream, and
/// asynchronously where it does not say otherwise. Throws Error when the device reports one.
class GpuRuntime {
 public:
  virtual ~GpuRuntime() = default;

  virtual GpuInfo info() const = 0;

  /// Null when there is no more. With `unified`, the host can read and write the memory as well.
  virtual void* allocate(std::size_t bytes, bool unified) = 0;
  virtual void release(void* memory) noexcept = 0;
  /// Page-locked host memory, which the device copies from and to without the host's help. Null when there is no more.
  virtual void* allocate_pinned(std::size_t bytes) = 0;
  virtual void release_pinned(void* memory) noexcept = 0;

  virtual void fill(void* to, unsigned char value, std::size_t bytes) = 0;
  /// Host memory must be page-locked and stay as it is until the stream has passed.
  virtual void copy(void* to, const void* from, std::size_t bytes) = 0;
  /// Waits until all work is done.
  virtual void synchronise() = 0;

  /// A point of the stream, and whether all work before it is done.
  virtual std::uint64_t mark() = 0;
  virtual bool passed(std::uint64_t mark) = 0;

  /// Until it is ended work is noted down instead of done.
  virtual void begin_capture() = 0;
  virtual std::unique_ptr<GpuGraph> end_capture() = 0;
  /// Ends a capture whose work is not wanted, as after an error.
  virtual void abandon_capture() noexcept = 0;
  virtual bool capturing() const = 0;
};

/// That of the active GPU; it is started when it is first asked for. Throws Error where there is none.
GpuRuntime& gpu_runtime();

/// From now on memory of the GPU can be read and written by the host, and every kernel has ended when its launch
/// returns: so that tests written for the CPU can run on a GPU as they are. Slow.
void use_unified_memory();
bool unified_memory();

}  // namespace npzoo
