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
  int arena = 0;  // where it goes when nobody owns it
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
    const std::int64_t live = claim(wanted.bytes);
    Buffer::Block* block = nullptr;
    try {
      block = cached(wanted);
      if (!block) block = from_system(wanted);
    } catch (...) {
      live_bytes_.fetch_sub(static_cast<std::int64_t>(wanted.bytes));
      throw;
    }
    raise(peak_live_bytes_, live);
    if constexpr (kGuard) arm(block);
    return block;
  }

  void recycle(Buffer::Block* block) noexcept {
    if constexpr (kGuard) verify(block);
    live_bytes_.fetch_sub(static_cast<std::int64_t>(block->bytes), std::memory_order_relaxed);
    if constexpr (kGuard) {
      to_system(block);  // a stale pointer then reaches memory that a sanitizer watches
    } else {
      Arena& arena = arenas_[block->arena];
      std::lock_guard lock(arena.mutex);
      block->next_free = arena.free[block->size_class];
      arena.free[block->size_class] = block;
    }
  }

  MemoryStats stats() const {
    return {.live_bytes = live_bytes_,
            .peak_live_bytes = peak_live_bytes_,
            .reserved_bytes = reserved_bytes_,
            .peak_reserved_bytes = peak_reserved_bytes_,
            .system_allocations = system_allocations_,
            .limit_bytes = limit_bytes_};
  }

  void reset_peak() {
    peak_live_bytes_ = live_bytes_.load();
    peak_reserved_bytes_ = reserved_bytes_.load();
  }

  void release_cached() {
    for (Arena& arena : arenas_) {
      std::lock_guard lock(arena.mutex);
      for (Buffer::Block*& head : arena.free)
        while (head) to_system(std::exchange(head, head->next_free));
    }
  }

  void set_limit(std::int64_t bytes) { limit_bytes_ = bytes; }

 private:
  static constexpr int kClasses = 8 * 56;
  static constexpr int kArenas = 16;

  /// Free blocks by size class. Each thread has an arena, shared with few others, so that it finds the blocks that are
  /// still in its core's cache, and waits for nobody.
  struct alignas(kAlignment) Arena {
    std::mutex mutex;
    std::array<Buffer::Block*, kClasses> free{};
  };

  static int own_arena() {
    static std::atomic<int> threads{0};
    thread_local const int index = threads++ % kArenas;
    return index;
  }

  static std::size_t footprint(std::size_t bytes) { return sizeof(Buffer::Block) + bytes + 2 * kGuardBytes; }

  static void raise(std::atomic<std::int64_t>& peak, std::int64_t value) {
    std::int64_t seen = peak.load(std::memory_order_relaxed);
    while (seen < value && !peak.compare_exchange_weak(seen, value, std::memory_order_relaxed)) {
    }
  }

  /// Counts the bytes as used and returns how many are then. Throws where the limit forbids it, and counts nothing:
  /// what one thread is refused does not stand in the way of another.
  std::int64_t claim(std::size_t bytes) {
    std::int64_t live = live_bytes_.load(std::memory_order_relaxed);
    do {
      const std::int64_t limit = limit_bytes_.load(std::memory_order_relaxed);
      if (limit > 0 && bytes > static_cast<std::size_t>(std::max<std::int64_t>(0, limit - live)))
        throw OutOfMemory(
            fmt::format("[memory] {} bytes more would exceed the limit of {}; npzoo holds {} bytes, of which "
                        "tensors use {}",
                        bytes, limit, reserved_bytes_.load(), live));
    } while (
        !live_bytes_.compare_exchange_weak(live, live + static_cast<std::int64_t>(bytes), std::memory_order_relaxed));
    return live + static_cast<std::int64_t>(bytes);
  }

  /// A free block of this thread's arena, or else of another one, which it then leaves.
  Buffer::Block* cached(SizeClass wanted) {
    const int own = own_arena();
    for (int i = 0; i < kArenas; ++i) {
      Arena& arena = arenas_[(own + i) % kArenas];
      std::lock_guard lock(arena.mutex);
      Buffer::Block* block = arena.free[wanted.index];
      if (!block) continue;
      arena.free[wanted.index] = block->next_free;
      block->owners.store(1, std::memory_order_relaxed);
      block->arena = own;
      return block;
    }
    return nullptr;
  }

  Buffer::Block* from_system(SizeClass wanted) {
    const std::size_t total = footprint(wanted.bytes);
    if (limit_bytes_ > 0 && reserved_bytes_ + static_cast<std::int64_t>(total) > limit_bytes_) release_cached();
    void* memory = std::aligned_alloc(kAlignment, total);
    if (!memory) {
      release_cached();
      memory = std::aligned_alloc(kAlignment, total);
    }
    if (!memory)
      throw OutOfMemory(
          fmt::format("[memory] the system has no {} bytes; npzoo holds {} bytes, of which tensors use {}", total,
                      reserved_bytes_.load(), live_bytes_.load() - static_cast<std::int64_t>(wanted.bytes)));
    auto* block = new (memory) Buffer::Block;
    block->bytes = wanted.bytes;
    block->size_class = wanted.index;
    block->arena = own_arena();
    raise(peak_reserved_bytes_,
          reserved_bytes_.fetch_add(static_cast<std::int64_t>(total)) + static_cast<std::int64_t>(total));
    ++system_allocations_;
    return block;
  }

  void to_system(Buffer::Block* block) noexcept {
    reserved_bytes_ -= static_cast<std::int64_t>(footprint(block->bytes));
    block->~Block();
    std::free(block);
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

  std::array<Arena, kArenas> arenas_;
  alignas(kAlignment) std::atomic<std::int64_t> live_bytes_{0};
  alignas(kAlignment) std::atomic<std::int64_t> peak_live_bytes_{0};
  std::atomic<std::int64_t> reserved_bytes_{0}, peak_reserved_bytes_{0}, system_allocations_{0}, limit_bytes_{0};
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
