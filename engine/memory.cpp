#include "engine/memory.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <mutex>
#include <new>
#include <string>

#include "engine/cuda/gpu.h"
#include "engine/error.h"
#include "engine/measure/machine.h"

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

/// Of host memory it sits in the 64 bytes before the data, so that a tensor costs one allocation.
struct alignas(kAlignment) Buffer::Block {
  std::atomic<std::int64_t> owners{1};
  std::byte* data = nullptr;
  std::size_t bytes = 0;  // usable bytes: the request rounded up to its size class
  Pool* pool = nullptr;
  Block* next_free = nullptr;
  int size_class = 0;
  int arena = 0;  // where it goes when nobody owns it
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

/// Where the blocks of a pool come from.
class BlockSource {
 public:
  using Block = Buffer::Block;

  virtual ~BlockSource() = default;
  /// A block whose data has so many bytes between guards; null when there is no more.
  virtual Block* acquire(std::size_t bytes) = 0;
  virtual void give_back(Block* block) noexcept = 0;
  /// What a block takes of the system's memory.
  virtual std::size_t footprint(std::size_t bytes) const { return bytes + 2 * kGuardBytes; }
  /// True where the guards can be written and read.
  virtual bool guarded() const { return kGuard; }
  virtual std::string name() const = 0;
  /// Bytes that there can be at most. What is asked for beyond is refused, though the system might promise it: it kills
  /// a process that then uses it.
  virtual std::int64_t capacity() const { return std::numeric_limits<std::int64_t>::max(); }
  /// Makes every float of the block a NaN.
  virtual void poison(Block* block) {
    if (kGuard) std::memset(block->data, kPoisonByte, block->bytes);
  }
};

class Pool {
 public:
  using Block = Buffer::Block;

  /// How its free blocks are kept apart.
  enum class Rooms : std::uint8_t { one, by_thread, one_and_graphs };

  Pool(std::unique_ptr<BlockSource> source, Rooms rooms) : source_(std::move(source)), rooms_(rooms) {}

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

 private:
  static constexpr int kClasses = 8 * 56;
  static constexpr int kThreadArenas = 16, kGraphArena = kThreadArenas, kArenas = kThreadArenas + 1;

  /// Free blocks by size class. Each thread has an arena, shared with few others, so that it finds the blocks that are
  /// still in its core's cache, and waits for nobody. A device has one, and another for graphs.
  struct alignas(kAlignment) Arena {
    std::mutex mutex;
    std::array<Block*, kClasses> free{};
  };

  int own_arena() const {
    if (rooms_ == Rooms::one_and_graphs && in_graph_) return kGraphArena;
    if (rooms_ != Rooms::by_thread) return 0;
    static std::atomic<int> threads{0};
    thread_local const int index = threads++ % kThreadArenas;
    return index;
  }

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
  Block* cached(SizeClass wanted) {
    const int own = own_arena();
    const bool alone = rooms_ != Rooms::by_thread;  // nothing is ever put into the arenas beside it
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
      throw OutOfMemory(fmt::format("[memory] {} has no {} bytes; npzoo holds {} bytes, of which tensors use {}",
                                    source_->name(), wanted.bytes, reserved_bytes_.load(),
                                    live_bytes_.load() - static_cast<std::int64_t>(wanted.bytes)));
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
  const Rooms rooms_;
  static thread_local bool in_graph_;
  std::atomic<int> graphs_{0};
  std::array<Arena, kArenas> arenas_;
  alignas(kAlignment) std::atomic<std::int64_t> live_bytes_{0};
  alignas(kAlignment) std::atomic<std::int64_t> peak_live_bytes_{0};
  std::atomic<std::int64_t> reserved_bytes_{0}, peak_reserved_bytes_{0}, system_allocations_{0}, limit_bytes_{0};
};

thread_local bool Pool::in_graph_ = false;

namespace {

class HostSource final : public BlockSource {
 public:
  Block* acquire(std::size_t bytes) override {
    void* memory = std::aligned_alloc(kAlignment, footprint(bytes));
    if (!memory) return nullptr;
    auto* block = new (memory) Block;
    block->data = reinterpret_cast<std::byte*>(block + 1) + kGuardBytes;
    return block;
  }
  void give_back(Block* block) noexcept override {
    block->~Block();
    std::free(block);
  }
  std::size_t footprint(std::size_t bytes) const override { return sizeof(Block) + bytes + 2 * kGuardBytes; }
  std::string name() const override { return "the system"; }
  std::int64_t capacity() const override { return capacity_; }

 private:
  const std::int64_t capacity_ = usable_memory();
};

/// Memory whose blocks are described beside it.
class GpuSource : public BlockSource {
 public:
  Block* acquire(std::size_t bytes) override {
    auto block = std::make_unique<Block>();  // first: if it throws, nothing has been taken of the device
    auto* memory = static_cast<std::byte*>(allocate(footprint(bytes)));
    if (!memory) return nullptr;
    block->data = memory + kGuardBytes;
    return block.release();
  }
  void give_back(Block* block) noexcept override {
    release(block->data - kGuardBytes);
    delete block;
  }

 private:
  virtual void* allocate(std::size_t bytes) = 0;
  virtual void release(void* memory) noexcept = 0;
};

class PinnedSource final : public GpuSource {
 public:
  std::string name() const override { return "the system's page-locked memory"; }

 private:
  void* allocate(std::size_t bytes) override { return gpu_runtime().allocate_pinned(bytes); }
  void release(void* memory) noexcept override { gpu_runtime().release_pinned(memory); }
};

class DeviceSource final : public GpuSource {
 public:
  bool guarded() const override { return kGuard && active_gpu() == Gpu::emulated; }
  void poison(Block* block) override {
    if (kGuard || active_gpu() == Gpu::emulated) gpu_runtime().fill(block->data, kPoisonByte, block->bytes);
  }
  std::string name() const override {
    const GpuInfo info = gpu_runtime().info();
    return fmt::format("the device ({} of {} bytes free)", info.free_bytes, info.memory_bytes);
  }

 private:
  void* allocate(std::size_t bytes) override { return gpu_runtime().allocate(bytes, unified_memory()); }
  void release(void* memory) noexcept override { gpu_runtime().release(memory); }
};

// Never destroyed: static tensors may outlive any other static object.

Pool& host_pool() {
  static auto* pool = new Pool(std::make_unique<HostSource>(), Pool::Rooms::by_thread);
  return *pool;
}

Pool& pinned_pool() {
  static auto* pool = new Pool(std::make_unique<PinnedSource>(), Pool::Rooms::one);
  return *pool;
}

Pool& device_pool() {
  static auto* pool = new Pool(std::make_unique<DeviceSource>(), Pool::Rooms::one_and_graphs);
  return *pool;
}

Pool& pool_of(Device device) { return device == Device::cpu ? host_pool() : device_pool(); }

}  // namespace

GraphMemory::GraphMemory() { Pool::use_graph_arena(true); }
GraphMemory::~GraphMemory() { Pool::use_graph_arena(false); }
void count_graphs(int change) { device_pool().count_graphs(change); }

Buffer::Buffer(std::size_t bytes, Device device) : block_(pool_of(device).allocate(bytes)) {}

Buffer Buffer::pinned(std::size_t bytes) { return Buffer(Adopted(), pinned_pool().allocate(bytes)); }

std::byte* Buffer::data() const { return block_ ? block_->data : nullptr; }

bool Buffer::unique() const { return block_ && block_->owners.load(std::memory_order_acquire) == 1; }

bool Buffer::is_pinned() const { return block_ && block_->pool == &pinned_pool(); }

void Buffer::retain() noexcept {
  if (!block_) return;
  block_->owners.fetch_add(1, std::memory_order_relaxed);
#ifdef NPZOO_GUARD
  BlockCopies::note(*block_);
#endif
}

void Buffer::release() noexcept {
  if (block_ && block_->owners.fetch_sub(1, std::memory_order_acq_rel) == 1) block_->pool->recycle(block_);
}

#ifdef NPZOO_GUARD
namespace {

thread_local std::vector<std::span<const std::byte>>* copied_blocks = nullptr;

}  // namespace

BlockCopies::BlockCopies(std::vector<std::span<const std::byte>>& blocks) { copied_blocks = &blocks; }
BlockCopies::~BlockCopies() { copied_blocks = nullptr; }

void BlockCopies::note(const Buffer::Block& block) {
  if (!copied_blocks) return;
  const bool far = block.pool == &device_pool() && active_gpu() == Gpu::nvidia && !unified_memory();
  if (!far) copied_blocks->emplace_back(block.data, block.bytes);
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
