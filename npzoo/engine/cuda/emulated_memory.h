#pragma once

#include <cstddef>
#include <map>
#include <mutex>

namespace npzoo {

/// The memory of the emulated device that the host must not touch. While no EmulatedMemory::Open lives, a read or write
/// there ends the process with SIGSEGV, as it does on a GPU. Blocks are zero at first use.
class EmulatedMemory {
 public:
  static constexpr std::size_t kAlignment = 256;  // as cudaMalloc aligns

  /// Lets all threads read and write the memory while the device works. May be nested. Used within a GpuTurn.
  class Open {
   public:
    explicit Open(EmulatedMemory& memory);
    Open(const Open&) = delete;
    Open& operator=(const Open&) = delete;
    ~Open();

   private:
    EmulatedMemory& memory_;
  };

  /// Throws Error if the system has no addresses for `capacity` bytes.
  explicit EmulatedMemory(std::size_t capacity);
  EmulatedMemory(const EmulatedMemory&) = delete;
  EmulatedMemory& operator=(const EmulatedMemory&) = delete;

  /// Null when there is no more.
  void* allocate(std::size_t bytes);
  /// Returns the bytes of a block that allocate() returned.
  std::size_t release(void* block) noexcept;
  bool owns(const void* block) const;

 private:
  void protect(int mode);

  mutable std::mutex mutex_;
  std::byte* base_;
  std::size_t capacity_;
  std::size_t end_ = 0;                      // behind the last block that was ever in use
  std::map<std::size_t, std::size_t> free_;  // offset of a gap → its bytes
  std::map<std::size_t, std::size_t> used_;  // offset of a block → the bytes asked for
  int open_ = 0;
};

}  // namespace npzoo
