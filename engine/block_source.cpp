#include "npzoo/engine/block_source.h"

#include <cstdlib>
#include <new>

#include "npzoo/engine/cuda/gpu.h"
#include "npzoo/engine/error.h"
#include "npzoo/engine/measure/machine.h"

namespace npzoo {

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

}  // namespace

std::unique_ptr<BlockSource> host_source() { return std::make_unique<HostSource>(); }
std::unique_ptr<BlockSource> pinned_source() { return std::make_unique<PinnedSource>(); }
std::unique_ptr<BlockSource> device_source() { return std::make_unique<DeviceSource>(); }

}  // namespace npzoo
