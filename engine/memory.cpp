#include "npzoo/engine/memory.h"

#include <pthread.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>

#include "npzoo/engine/block_source.h"
#include "npzoo/engine/cuda/gpu.h"
#include "npzoo/engine/error.h"

namespace npzoo {

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

class Pool {
 public:
  using Block = Buffer::Block;

  /// How its free blocks are kept apart.
  enum class Division : std::uint8_t { none, by_thread, graphs_apart };

  Pool(std::unique_ptr<BlockSource> source, Division division) : source_(std::move(source)), division_(division) {}

  Block* allocate(std::size_t request) {
    const SizeClass wanted = size_class(request);
    const std::int64_t live = claim(wanted.bytes);
    Block* block = nullptr;
    try {
      block = cached(wanted);
      if (!block) block = from_system(wanted);
    } catch (...) {
      live_bytes_.fetch_sub(static_cast<std::int64_t>(wanted.bytes));
      throw;
    }
    raise(peak_live_bytes_, live);
    if (source_->guarded()) arm(block);
    try {
      source_->poison(block);
    } catch (...) {
      recycle(block);
      throw;
    }
    return block;
  }

  void recycle(Block* block) noexcept {
    if (source_->guarded()) verify(block);
    live_bytes_.fetch_sub(static_cast<std::int64_t>(block->bytes), std::memory_order_relaxed);
    if (kGuard && block->arena != kGraphArena) {
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
    for (int i = 0; i < kArenas; ++i) {
      if (i == kGraphArena && graphs_ > 0) continue;
      std::lock_guard lock(arenas_[i].mutex);
      for (Block*& head : arenas_[i].free)
        while (head) to_system(std::exchange(head, head->next_free));
    }
  }

  void set_limit(std::int64_t bytes) { limit_bytes_ = bytes; }
  static void use_graph_arena(bool on) { in_graph_ = on; }
  void count_graphs(int change) { graphs_ += change; }

  /// Keeps all threads from its free blocks until `unlock`.
  void lock() {
    for (Arena& arena : arenas_) arena.mutex.lock();
  }
  void unlock() {
    for (Arena& arena : arenas_) arena.mutex.unlock();
  }

 private:
  static constexpr int kClasses = 8 * 56;
  static constexpr int kThreadArenas = 16, kGraphArena = kThreadArenas, kArenas = kThreadArenas + 1;

  /// Free blocks by size class. Each thread has an arena, shared with few others, so it finds blocks that are still in
  /// its core's cache, without waiting. A device has one, and another for graphs.
  struct alignas(kAlignment) Arena {
    std::mutex mutex;
    std::array<Block*, kClasses> free{};
  };

  int own_arena() const {
    if (division_ == Division::graphs_apart && in_graph_) return kGraphArena;
    if (division_ != Division::by_thread) return 0;
    static std::atomic<int> threads{0};
    thread_local const int index = threads++ % kThreadArenas;
    return index;
  }

  static void raise(std::atomic<std::int64_t>& peak, std::int64_t value) {
    std::int64_t seen = peak.load(std::memory_order_relaxed);
    while (seen < value && !peak.compare_exchange_weak(seen, value, std::memory_order_relaxed)) {
    }
  }

  /// Counts the bytes as used and returns how many are then. Throws if the limit forbids it, and counts nothing:
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
  Block* cached(SizeClass wanted) {
    const int own = own_arena();
    const bool alone = division_ != Division::by_thread;  // nothing is ever put into the arenas beside it
    for (int i = 0; i < (alone ? 1 : kThreadArenas); ++i) {
      Arena& arena = arenas_[alone ? own : (own + i) % kThreadArenas];
      std::lock_guard lock(arena.mutex);
      Block* block = arena.free[wanted.index];
      if (!block) continue;
      arena.free[wanted.index] = block->next_free;
      block->owners.store(1, std::memory_order_relaxed);
      block->arena = own;
      return block;
    }
    return nullptr;
  }

  Block* from_system(SizeClass wanted) {
    const auto total = static_cast<std::int64_t>(source_->footprint(wanted.bytes));
    if (limit_bytes_ > 0 && reserved_bytes_ + total > limit_bytes_) release_cached();
    const auto acquire = [&] {
      return reserved_bytes_ <= source_->capacity() - total ? source_->acquire(wanted.bytes) : nullptr;
    };
    Block* block = acquire();
    if (!block) {
      release_cached();
      block = acquire();
    }
    if (!block)
      throw OutOfMemory(fmt::format(
          "[memory] {} has no room for {} bytes; npzoo holds {} bytes, of which tensors use {}", source_->name(),
          wanted.bytes, reserved_bytes_.load(), live_bytes_.load() - static_cast<std::int64_t>(wanted.bytes)));
    block->pool = this;
    block->bytes = wanted.bytes;
    block->size_class = wanted.index;
    block->arena = own_arena();
    raise(peak_reserved_bytes_, reserved_bytes_.fetch_add(total) + total);
    ++system_allocations_;
    return block;
  }

  void to_system(Block* block) noexcept {
    reserved_bytes_ -= static_cast<std::int64_t>(source_->footprint(block->bytes));
    source_->give_back(block);
  }

  static void arm(Block* block) {
    std::memset(block->data - kGuardBytes, kGuardByte, kGuardBytes);
    std::memset(block->data + block->bytes, kGuardByte, kGuardBytes);
  }

  static void verify(Block* block) noexcept {
    const auto intact = [](const std::byte* p) {
      return std::all_of(p, p + kGuardBytes, [](std::byte b) { return b == std::byte{kGuardByte}; });
    };
    if (intact(block->data - kGuardBytes) && intact(block->data + block->bytes)) return;
    std::fprintf(stderr, "npzoo: a kernel wrote outside its block of %zu bytes\n", block->bytes);
    std::abort();
  }

  const std::unique_ptr<BlockSource> source_;
  const Division division_;
  static thread_local bool in_graph_;
  std::atomic<int> graphs_{0};
  std::array<Arena, kArenas> arenas_;
  alignas(kAlignment) std::atomic<std::int64_t> live_bytes_{0};
  alignas(kAlignment) std::atomic<std::int64_t> peak_live_bytes_{0};
  std::atomic<std::int64_t> reserved_bytes_{0}, peak_reserved_bytes_{0}, system_allocations_{0}, limit_bytes_{0};
};

thread_local bool Pool::in_graph_ = false;

namespace {

struct Pools {
  Pool host{host_source(), Pool::Division::by_thread};
  Pool pinned{pinned_source(), Pool::Division::none};
  Pool device{device_source(), Pool::Division::graphs_apart};

  void lock() {
    for (Pool* pool : {&host, &pinned, &device}) pool->lock();
  }
  void unlock() {
    for (Pool* pool : {&host, &pinned, &device}) pool->unlock();
  }
};

/// Returns the pools of the process. They are never destroyed: static tensors may outlive any other static object. A
/// forked child has their locks, but not the other threads that may hold them, so the thread that forks takes all of
/// them first.
Pools& pools() {
  static auto* const process = [] {
    auto* const made = new Pools;
    ::pthread_atfork([] { pools().lock(); }, [] { pools().unlock(); }, [] { pools().unlock(); });
    return made;
  }();
  return *process;
}

Pool& host_pool() { return pools().host; }
Pool& pinned_pool() { return pools().pinned; }
Pool& device_pool() { return pools().device; }

Pool& pool_of(Device device) { return device == Device::cpu ? host_pool() : device_pool(); }

}  // namespace

GraphMemory::GraphMemory() { Pool::use_graph_arena(true); }
GraphMemory::~GraphMemory() { Pool::use_graph_arena(false); }
void count_graphs(int change) { device_pool().count_graphs(change); }

Buffer::Buffer(std::size_t bytes, Device device) : block_(pool_of(device).allocate(bytes)) {}

Buffer Buffer::pinned(std::size_t bytes) { return Buffer(Adopted(), pinned_pool().allocate(bytes)); }

/// Belongs to no pool.
struct Buffer::ForeignBlock : Block {
  std::function<void(void*)> give_back;
  Device device = Device::cpu;
};

Buffer Buffer::adopt(void* memory, std::size_t bytes, std::size_t alignment, std::function<void(void*)> release,
                     Device device) {
  check(std::has_single_bit(alignment), "[buffer] an alignment of {} bytes found, expected a power of two", alignment);
  const auto address = reinterpret_cast<std::uintptr_t>(memory);
  check(address % alignment == 0, "[buffer] memory at address {:#x} found, expected a multiple of {} bytes", address,
        alignment);
  check(memory != nullptr || bytes == 0, "[buffer] a null address found for {} bytes, expected memory", bytes);
  auto* const block = new ForeignBlock;
  block->data = static_cast<std::byte*>(memory);
  block->bytes = bytes;
  block->give_back = std::move(release);
  block->device = device;
  return Buffer(Adopted(), block);
}

std::byte* Buffer::data() const { return block_ ? block_->data : nullptr; }

std::size_t Buffer::bytes() const { return block_ ? block_->bytes : 0; }

Device Buffer::device() const {
  if (!block_) return Device::cpu;
  if (!block_->pool) return static_cast<const ForeignBlock*>(block_)->device;
  return block_->pool == &device_pool() ? Device::cuda : Device::cpu;
}

bool Buffer::unique() const { return block_ && block_->pool && block_->owners.load(std::memory_order_acquire) == 1; }

bool Buffer::is_pinned() const { return block_ && block_->pool == &pinned_pool(); }

void Buffer::retain() noexcept {
  if (!block_) return;
  block_->owners.fetch_add(1, std::memory_order_relaxed);
#ifdef NPZOO_GUARD
  BlockCopies::note(*this);
#endif
}

void Buffer::release() noexcept {
  if (!block_ || block_->owners.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  if (block_->pool) return block_->pool->recycle(block_);
  const std::unique_ptr<ForeignBlock> foreign(static_cast<ForeignBlock*>(block_));
  if (foreign->give_back) foreign->give_back(foreign->data);
}

#ifdef NPZOO_GUARD
namespace {

thread_local std::vector<std::span<const std::byte>>* copied_blocks = nullptr;

}  // namespace

BlockCopies::BlockCopies(std::vector<std::span<const std::byte>>& blocks) { copied_blocks = &blocks; }
BlockCopies::~BlockCopies() { copied_blocks = nullptr; }

void BlockCopies::note(const Buffer& buffer) {
  if (!copied_blocks) return;
  const bool far = buffer.device() == Device::cuda && active_gpu() == Gpu::nvidia && !unified_memory();
  if (!far) copied_blocks->emplace_back(buffer.data(), buffer.bytes());
}
#endif

MemoryStats memory_stats(Device device) { return pool_of(device).stats(); }
void reset_peak_memory(Device device) { pool_of(device).reset_peak(); }
MemoryStats pinned_memory_stats() { return pinned_pool().stats(); }
void reset_peak_pinned_memory() { pinned_pool().reset_peak(); }
void release_cached_memory(Device device) { pool_of(device).release_cached(); }

void set_memory_limit(std::int64_t bytes, Device device) {
  check(bytes >= 0, "[memory] a limit of {} bytes found, expected 0 (none) or more", bytes);
  pool_of(device).set_limit(bytes);
}

}  // namespace npzoo
