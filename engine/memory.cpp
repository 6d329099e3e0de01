#include "engine/memory.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>

#include "engine/error.h"

namespace npzoo {

#ifdef NPZOO_GUARD
constexpr bool kGuard = true;
#else
constexpr bool kGuard = false;
#endif

constexpr std::size_t kAlignment = 64;
constexpr std::size_t kGuardBytes = kGuard ? kAlignment : 0;
constexpr unsigned char kGuardByte = 0xA5;
constexpr unsigned char kPoisonByte = 0xFF;  // every float and double made of it is a NaN

/// Sits in the 64 bytes before the data, so that a tensor costs one allocation.
struct alignas(kAlignment) Buffer::Block {
  std::atomic<std::int64_t> owners{1};
  std::size_t bytes = 0;  // usable bytes: the request rounded up to its size class
  int size_class = 0;
  Block* next_free = nullptr;

  std::byte* data() { return reinterpret_cast<std::byte*>(this + 1) + kGuardBytes; }
};

namespace {

/// Eight classes an octave: at most 12.5 % of a block is unused.
struct SizeClass {
  int index;
  std::size_t bytes;
};

SizeClass size_class(std::size_t request) {
  const std::size_t bytes = std::max(request, kAlignment);
  const int octave = std::bit_width(bytes - 1) - 1;
  const std::size_t step = octave >= 9 ? std::size_t{1} << (octave - 3) : kAlignment;
  const std::size_t rounded = (bytes + step - 1) / step * step;
  const auto eighth = octave >= 9 ? (rounded - 1) / step - 8 : rounded / kAlignment - 1;
  return {octave >= 9 ? (octave - 8) * 8 + static_cast<int>(eighth) : static_cast<int>(eighth), rounded};
}

}  // namespace

class HostPool {
 public:
  static HostPool& instance() {
    // Never destroyed: static tensors may outlive any other static object.
    static auto* pool = new HostPool;
    return *pool;
  }

  Buffer::Block* allocate(std::size_t request) {
    const SizeClass wanted = size_class(request);
    std::lock_guard lock(mutex_);
    check_limit(wanted.bytes);
    Buffer::Block* block = free_[wanted.index];
    if (block) {
      free_[wanted.index] = block->next_free;
      block->owners.store(1, std::memory_order_relaxed);
    } else {
      block = from_system(wanted);
    }
    stats_.live_bytes += static_cast<std::int64_t>(block->bytes);
    stats_.peak_live_bytes = std::max(stats_.peak_live_bytes, stats_.live_bytes);
    if constexpr (kGuard) arm(block);
    return block;
  }

  void recycle(Buffer::Block* block) noexcept {
    if constexpr (kGuard) verify(block);
    std::lock_guard lock(mutex_);
    stats_.live_bytes -= static_cast<std::int64_t>(block->bytes);
    if constexpr (kGuard) {
      to_system(block);  // a stale pointer then reaches memory that a sanitizer watches
    } else {
      block->next_free = free_[block->size_class];
      free_[block->size_class] = block;
    }
  }

  MemoryStats stats() {
    std::lock_guard lock(mutex_);
    return stats_;
  }

  void reset_peak() {
    std::lock_guard lock(mutex_);
    stats_.peak_live_bytes = stats_.live_bytes;
    stats_.peak_reserved_bytes = stats_.reserved_bytes;
  }

  void release_cached() {
    std::lock_guard lock(mutex_);
    release_cached_locked();
  }

  void set_limit(std::int64_t bytes) {
    std::lock_guard lock(mutex_);
    stats_.limit_bytes = bytes;
  }

 private:
  static constexpr int kClasses = 8 * 56;

  static std::size_t footprint(const Buffer::Block* block) {
    return sizeof(Buffer::Block) + block->bytes + 2 * kGuardBytes;
  }

  void check_limit(std::size_t bytes) const {
    if (stats_.limit_bytes == 0) return;
    const std::int64_t left = std::max<std::int64_t>(0, stats_.limit_bytes - stats_.live_bytes);
    if (bytes <= static_cast<std::size_t>(left)) return;
    throw OutOfMemory(
        fmt::format("[memory] {} bytes more would exceed the limit of {}; npzoo holds {} bytes, of which "
                    "tensors use {}",
                    bytes, stats_.limit_bytes, stats_.reserved_bytes, stats_.live_bytes));
  }

  Buffer::Block* from_system(SizeClass wanted) {
    const std::size_t total = sizeof(Buffer::Block) + wanted.bytes + 2 * kGuardBytes;
    if (stats_.limit_bytes > 0 && stats_.reserved_bytes + static_cast<std::int64_t>(total) > stats_.limit_bytes)
      release_cached_locked();
    void* memory = std::aligned_alloc(kAlignment, total);
    if (!memory) {
      release_cached_locked();
      memory = std::aligned_alloc(kAlignment, total);
    }
    if (!memory)
      throw OutOfMemory(
          fmt::format("[memory] the system has no {} bytes; npzoo holds {} bytes, of which tensors use {}", total,
                      stats_.reserved_bytes, stats_.live_bytes));
    auto* block = new (memory) Buffer::Block;
    block->bytes = wanted.bytes;
    block->size_class = wanted.index;
    stats_.reserved_bytes += static_cast<std::int64_t>(total);
    stats_.peak_reserved_bytes = std::max(stats_.peak_reserved_bytes, stats_.reserved_bytes);
    ++stats_.system_allocations;
    return block;
  }

  void to_system(Buffer::Block* block) noexcept {
    stats_.reserved_bytes -= static_cast<std::int64_t>(footprint(block));
    block->~Block();
    std::free(block);
  }

  void release_cached_locked() {
    for (Buffer::Block*& head : free_)
      while (head) to_system(std::exchange(head, head->next_free));
  }

  static void arm(Buffer::Block* block) {
    std::memset(block->data() - kGuardBytes, kGuardByte, kGuardBytes);
    std::memset(block->data(), kPoisonByte, block->bytes);
    std::memset(block->data() + block->bytes, kGuardByte, kGuardBytes);
  }

  static void verify(Buffer::Block* block) noexcept {
    const auto intact = [](const std::byte* p) {
      return std::all_of(p, p + kGuardBytes, [](std::byte b) { return b == std::byte{kGuardByte}; });
    };
    if (intact(block->data() - kGuardBytes) && intact(block->data() + block->bytes)) return;
    std::fprintf(stderr, "npzoo: a kernel wrote outside its block of %zu bytes\n", block->bytes);
    std::abort();
  }

  std::mutex mutex_;
  std::array<Buffer::Block*, kClasses> free_{};
  MemoryStats stats_;
};

Buffer::Buffer(std::size_t bytes, Device device) {
  check(device == Device::cpu, "[memory] this build of npzoo has no CUDA support");
  block_ = HostPool::instance().allocate(bytes);
}

std::byte* Buffer::data() const { return block_ ? block_->data() : nullptr; }

bool Buffer::unique() const { return block_ && block_->owners.load(std::memory_order_acquire) == 1; }

void Buffer::retain() noexcept {
  if (block_) block_->owners.fetch_add(1, std::memory_order_relaxed);
}

void Buffer::release() noexcept {
  if (block_ && block_->owners.fetch_sub(1, std::memory_order_acq_rel) == 1) HostPool::instance().recycle(block_);
}

MemoryStats memory_stats(Device) { return HostPool::instance().stats(); }
void reset_peak_memory(Device) { HostPool::instance().reset_peak(); }
void release_cached_memory(Device) { HostPool::instance().release_cached(); }

void set_memory_limit(std::int64_t bytes, Device) {
  check(bytes >= 0, "[memory] a limit of {} bytes found, expected 0 (none) or more", bytes);
  HostPool::instance().set_limit(bytes);
}

}  // namespace npzoo
