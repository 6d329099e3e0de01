#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "npzoo/engine/device.h"
#include "npzoo/engine/exception.h"

namespace npzoo {

class Pool;
class BlockSource;

/// Counters of the caching pool, in bytes. `reserved` is what the pool holds from the system, `live` what tensors use
/// of it; `system_allocations` counts the pool's requests to the system.
struct MemoryStats {
  std::int64_t live_bytes = 0;
  std::int64_t peak_live_bytes = 0;
  std::int64_t reserved_bytes = 0;
  std::int64_t peak_reserved_bytes = 0;
  std::int64_t system_allocations = 0;
  std::int64_t limit_bytes = 0;  // of the bytes that tensors use, 0: none
};

MemoryStats memory_stats(Device device = Device::cpu);
/// Sets both peaks to the present values.
void reset_peak_memory(Device device = Device::cpu);
/// The same for page-locked host memory.
MemoryStats pinned_memory_stats();
void reset_peak_pinned_memory();
/// Gives every cached block back to the system.
void release_cached_memory(Device device = Device::cpu);

/// Thrown if the limit or the system refuses memory; nothing else has changed then.
class OutOfMemory : public Error {
 public:
  using Error::Error;
};

/// Refuses every request that would take what tensors use (`live_bytes`) beyond `bytes`; 0: no limit. Cached blocks go
/// back to the system before the pool exceeds the limit.
void set_memory_limit(std::int64_t bytes, Device device = Device::cpu);

/// While alive, this limit replaces the one before.
class MemoryLimit {
 public:
  explicit MemoryLimit(std::int64_t bytes, Device device = Device::cpu)
      : device_(device), before_(memory_stats(device).limit_bytes) {
    set_memory_limit(bytes, device);
  }
  MemoryLimit(const MemoryLimit&) = delete;
  MemoryLimit& operator=(const MemoryLimit&) = delete;
  ~MemoryLimit() { set_memory_limit(before_, device_); }

 private:
  Device device_;
  std::int64_t before_;
};

/// While alive, this thread gets device memory from a separate pool. Its blocks are not used for anything else as long
/// as there is a graph: the kernels of a captured graph find their memory as they left it. Graphs run one after
/// another, so they share this pool.
class GraphMemory {
 public:
  GraphMemory();
  GraphMemory(const GraphMemory&) = delete;
  GraphMemory& operator=(const GraphMemory&) = delete;
  ~GraphMemory();
};
/// Adds to the number of graphs that need that pool. While there are any, release_cached_memory keeps its blocks.
void count_graphs(int change);

/// Shared ownership of one block of a pool, aligned to 64 bytes, or of foreign memory. Its contents start undefined
/// (NaN in a guard build and on an emulated device). A block whose last owner goes returns to the pool, where the next
/// request of its size class finds it: on a device that is safe because all its work is done in one order.
class Buffer {
 public:
  Buffer() = default;
  /// Throws OutOfMemory, with the pool's counters, beyond the limit and if the system is out of memory.
  explicit Buffer(std::size_t bytes, Device device = Device::cpu);
  /// Page-locked host memory, which a CUDA device reads and writes without the host's help.
  static Buffer pinned(std::size_t bytes);
  /// Takes memory that somebody else allocated, on the host or on the active GPU: `bytes` from `memory` on, which must
  /// stay where they are. The last owner calls `release(memory)` once, on its own thread; `release` must not throw.
  /// Somebody outside may hold the memory as well, so the buffer is never unique() and the library never writes to it,
  /// and it does not count as the pool's. Throws Error, and leaves the memory with the caller, unless `alignment` is a
  /// power of two that divides the address. Kernels of the CPU need the alignment of one element.
  static Buffer adopt(void* memory, std::size_t bytes, std::size_t alignment, std::function<void(void*)> release,
                      Device device = Device::cpu);
  Buffer(const Buffer& other) noexcept : block_(other.block_) { retain(); }
  Buffer(Buffer&& other) noexcept : block_(std::exchange(other.block_, nullptr)) {}
  Buffer& operator=(Buffer other) noexcept {
    std::swap(block_, other.block_);
    return *this;
  }
  ~Buffer() { release(); }

  std::byte* data() const;
  /// Returns the bytes that can be used; a pool rounds requests up.
  std::size_t bytes() const;
  Device device() const;
  /// True if no other Buffer shares the memory, so that it may be changed in place.
  bool unique() const;
  bool is_pinned() const;
  explicit operator bool() const { return block_ != nullptr; }

 private:
  struct Block;
  struct ForeignBlock;
  friend class Pool;
  friend class BlockSource;
  friend class BlockCopies;
  struct Adopted {};
  Buffer(Adopted, Block* block) : block_(block) {}
  void retain() noexcept;
  void release() noexcept;

  Block* block_ = nullptr;
};

#ifdef NPZOO_GUARD
/// While it lives, `blocks` gets the memory of each Buffer that this thread copies, as far as the host can read it.
class BlockCopies {
 public:
  explicit BlockCopies(std::vector<std::span<const std::byte>>& blocks);
  BlockCopies(const BlockCopies&) = delete;
  BlockCopies& operator=(const BlockCopies&) = delete;
  ~BlockCopies();

 private:
  friend class Buffer;
  static void note(const Buffer& buffer);
};
#endif

}  // namespace npzoo
