#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <string>

#include "npzoo/engine/memory.h"

// Parts of the pools of memory.cpp. Only memory.cpp and the sources include it.

namespace npzoo {

#ifdef NPZOO_GUARD
inline constexpr bool kGuard = true;
#else
inline constexpr bool kGuard = false;
#endif

inline constexpr std::size_t kAlignment = 64;
inline constexpr std::size_t kGuardBytes = kGuard ? kAlignment : 0;
inline constexpr unsigned char kGuardByte = 0xA5;
inline constexpr unsigned char kPoisonByte = 0xFF;  // every float and double made of it is a NaN

/// A host block starts with this, in the 64 bytes before the data, so that a tensor costs one allocation.
struct alignas(kAlignment) Buffer::Block {
  std::atomic<std::int64_t> owners{1};
  std::byte* data = nullptr;
  std::size_t bytes = 0;  // usable bytes: the request rounded up to its size class
  Pool* pool = nullptr;
  Block* next_free = nullptr;
  int size_class = 0;
  int arena = 0;  // the arena that it returns to without an owner
};

/// The system that a pool takes its blocks from.
class BlockSource {
 public:
  using Block = Buffer::Block;

  virtual ~BlockSource() = default;
  /// Returns a block whose data has so many bytes between guards, or null if the system has no more.
  virtual Block* acquire(std::size_t bytes) = 0;
  virtual void give_back(Block* block) noexcept = 0;
  /// Returns the bytes that a block takes of the system's memory.
  virtual std::size_t footprint(std::size_t bytes) const { return bytes + 2 * kGuardBytes; }
  /// Returns whether the host can write and read the guards.
  virtual bool guarded() const { return kGuard; }
  virtual std::string name() const = 0;
  /// Returns the bytes that there are at most. The pool refuses requests beyond: the system might promise them, and
  /// kill the process that uses them.
  virtual std::int64_t capacity() const { return std::numeric_limits<std::int64_t>::max(); }
  /// Makes every float of the block a NaN.
  virtual void poison(Block* block) {
    if (kGuard) std::memset(block->data, kPoisonByte, block->bytes);
  }
};

std::unique_ptr<BlockSource> host_source();
std::unique_ptr<BlockSource> pinned_source();
std::unique_ptr<BlockSource> device_source();

}  // namespace npzoo
