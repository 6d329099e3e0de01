#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace npzoo {

/// The device of CUDA kernels: an NVIDIA device, or an emulation of one on the CPU, which is slow and checks them on
/// machines without a device.
enum class Gpu : std::uint8_t { nvidia, emulated };

std::string_view to_string(Gpu gpu);

/// Returns which of the two this process uses: what `select_gpu` chose last; before that NVIDIA in a build with CUDA
/// and the emulation in one without.
Gpu active_gpu();
/// Chooses the GPU of this process; `index` is that of an NVIDIA device. Throws Error, and changes nothing, if this
/// build or machine cannot run it, or if the process has started another GPU already.
void select_gpu(Gpu gpu, int index = 0);

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
/// Returns why list_gpus() is empty.
std::string why_no_gpu();

/// A captured stream of work: it can be launched again and again, on the same memory.
class GpuGraph {
 public:
  virtual ~GpuGraph() = default;
  virtual void launch() = 0;
};

/// While alive, this thread has the GPU to itself, and other threads that need it wait. Turns of one thread may be
/// nested. Kernels, transfers and the functions of GpuRuntime take a turn themselves.
class GpuTurn {
 public:
  /// Throws Error within a loop that a capturing thread started. That thread holds the turn and waits for the loop, so
  /// a worker of the loop would wait for ever.
  GpuTurn();
  GpuTurn(const GpuTurn&) = delete;
  GpuTurn& operator=(const GpuTurn&) = delete;
  ~GpuTurn();
};

/// The turn of a capture, from begin_capture to its end on the same thread.
class CaptureTurn {
 public:
  CaptureTurn();
  CaptureTurn(const CaptureTurn&) = delete;
  CaptureTurn& operator=(const CaptureTurn&) = delete;
  ~CaptureTurn();

 private:
  GpuTurn turn_;
};

/// The services of a device that the engine needs besides kernels. All work is done in the order of one stream,
/// asynchronously unless stated otherwise. Throws Error when the device reports one. Several threads may use it.
class GpuRuntime {
 public:
  virtual ~GpuRuntime() = default;

  virtual GpuInfo info() const = 0;

  /// Returns null if no memory is left. With `unified`, the host can read and write the memory as well.
  virtual void* allocate(std::size_t bytes, bool unified) = 0;
  virtual void release(void* memory) noexcept = 0;
  /// Returns page-locked host memory, which the device copies from and to without the host's help; null if none is
  /// left.
  virtual void* allocate_pinned(std::size_t bytes) = 0;
  virtual void release_pinned(void* memory) noexcept = 0;

  virtual void fill(void* to, unsigned char value, std::size_t bytes) = 0;
  /// Host memory must be page-locked and stay as it is until the stream has passed.
  virtual void copy(void* to, const void* from, std::size_t bytes) = 0;
  /// Waits until all work is done.
  virtual void synchronise() = 0;

  /// Marks a point of the stream. Throws Error while a graph is captured: nothing reaches the stream then.
  virtual std::uint64_t mark() = 0;
  /// Returns whether all work before the mark is done; false while a graph is captured.
  virtual bool passed(std::uint64_t mark) = 0;
  /// Waits until all work before the mark is done.
  virtual void wait(std::uint64_t mark) = 0;

  /// Until the capture ends, work is recorded instead of done.
  virtual void begin_capture() = 0;
  virtual std::unique_ptr<GpuGraph> end_capture() = 0;
  /// Ends a capture and drops its work, as after an error.
  virtual void abandon_capture() noexcept = 0;
  virtual bool capturing() const = 0;
  /// Lets the graph that is being captured own `object`, which its work uses. Does nothing outside a capture.
  virtual void keep_for_graph(std::shared_ptr<const void> object) = 0;
};

/// Returns the runtime of the active GPU. The first call starts it; from then on the process keeps this GPU. Throws
/// Error if there is none.
GpuRuntime& gpu_runtime();

/// Makes memory of the GPU readable and writable by the host, and lets every kernel end before its launch returns, so
/// that tests written for the CPU can run on a GPU as they are. Slow. Throws Error if the GPU has been started already.
void use_unified_memory();
bool unified_memory();

}  // namespace npzoo
