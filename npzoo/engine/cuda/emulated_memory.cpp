#include "npzoo/engine/cuda/emulated_memory.h"

#include <sys/mman.h>

#include <algorithm>

#include "npzoo/engine/error.h"

namespace npzoo {

namespace {

constexpr std::size_t kGrowth = std::size_t{2} << 20;  // a huge page, so that few pages are opened and closed

std::size_t rounded_up(std::size_t bytes, std::size_t unit) { return (bytes + unit - 1) / unit * unit; }

/// The bytes that a block of `bytes` takes.
std::size_t taken(std::size_t bytes) {
  return std::max(rounded_up(bytes, EmulatedMemory::kAlignment), EmulatedMemory::kAlignment);
}

}  // namespace

EmulatedMemory::EmulatedMemory(std::size_t capacity) : capacity_(rounded_up(capacity, kGrowth)) {
  void* const memory = ::mmap(nullptr, capacity_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  check(memory != MAP_FAILED, "[emulator] the system has no addresses for {} bytes of the emulated device", capacity_);
  ::madvise(memory, capacity_, MADV_HUGEPAGE);
  base_ = static_cast<std::byte*>(memory);
}

void* EmulatedMemory::allocate(std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  if (bytes > capacity_) return nullptr;
  const std::size_t wanted = taken(bytes);
  const auto gap = std::ranges::find_if(free_, [&](const auto& g) { return g.second >= wanted; });
  if (gap != free_.end()) {
    const auto [offset, size] = *gap;
    free_.erase(gap);
    if (size > wanted) free_[offset + wanted] = size - wanted;
    used_[offset] = bytes;
    return base_ + offset;
  }
  if (wanted > capacity_ - end_) return nullptr;
  const std::size_t offset = end_;
  end_ += wanted;
  used_[offset] = bytes;
  if (open_ > 0) protect(PROT_READ | PROT_WRITE);
  return base_ + offset;
}

std::size_t EmulatedMemory::release(void* block) noexcept {
  const std::lock_guard lock(mutex_);
  const auto found = used_.find(static_cast<std::size_t>(static_cast<std::byte*>(block) - base_));
  const auto [offset, released] = *found;
  std::size_t bytes = taken(released);
  used_.erase(found);
  const auto after = free_.find(offset + bytes);
  if (after != free_.end()) {
    bytes += after->second;
    free_.erase(after);
  }
  const auto next = free_.lower_bound(offset);
  if (next != free_.begin()) {
    const auto before = std::prev(next);
    if (before->first + before->second == offset) {
      before->second += bytes;
      return released;
    }
  }
  free_[offset] = bytes;
  return released;
}

bool EmulatedMemory::owns(const void* block) const {
  const auto* const at = static_cast<const std::byte*>(block);
  return base_ <= at && at < base_ + capacity_;
}

void EmulatedMemory::protect(int mode) {
  if (end_ > 0) ::mprotect(base_, rounded_up(end_, kGrowth), mode);
}

EmulatedMemory::Open::Open(EmulatedMemory& memory) : memory_(memory) {
  const std::lock_guard lock(memory_.mutex_);
  if (memory_.open_++ == 0) memory_.protect(PROT_READ | PROT_WRITE);
}

EmulatedMemory::Open::~Open() {
  const std::lock_guard lock(memory_.mutex_);
  if (--memory_.open_ == 0) memory_.protect(PROT_NONE);
}

}  // namespace npzoo
