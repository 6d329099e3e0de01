#include "engine/cuda/emulated_runtime.h"

#include <cstdlib>
#include <cstring>
#include <utility>

#include "engine/cuda/context.h"
#include "engine/error.h"

namespace npzoo {

namespace {

using Work = std::vector<std::function<void()>>;

constexpr int kSharedBytes = 227 * 1024;  // as on sm_90

/// Null while nothing is captured.
std::unique_ptr<Work> captured;

class EmulatedGraph final : public GpuGraph {
 public:
  explicit EmulatedGraph(Work work) : work_(std::move(work)) {}
  void launch() override {
    for (const auto& step : work_) emulator::submit(step);
  }

 private:
  Work work_;
};

class EmulatedRuntime final : public GpuRuntime {
 public:
  GpuInfo info() const override {
    return {"emulation on the CPU", 9, 0, 4, kMemory, kMemory - used_, kSharedBytes, "none"};
  }

  void* allocate(std::size_t bytes, bool /*unified*/) override {
    if (used_ + static_cast<std::int64_t>(bytes) > kMemory) return nullptr;
    auto* memory = static_cast<std::byte*>(std::aligned_alloc(kAlignment, kAlignment + rounded(bytes)));
    if (!memory) return nullptr;
    std::memcpy(memory, &bytes, sizeof(bytes));
    used_ += static_cast<std::int64_t>(bytes);
    return memory + kAlignment;
  }
  void release(void* memory) noexcept override {
    auto* block = static_cast<std::byte*>(memory) - kAlignment;
    std::size_t bytes = 0;
    std::memcpy(&bytes, block, sizeof(bytes));
    used_ -= static_cast<std::int64_t>(bytes);
    std::free(block);
  }
  void* allocate_pinned(std::size_t bytes) override { return std::aligned_alloc(kAlignment, rounded(bytes)); }
  void release_pinned(void* memory) noexcept override { std::free(memory); }

  void fill(void* to, unsigned char value, std::size_t bytes) override {
    emulator::submit([=] { std::memset(to, value, bytes); });
  }
  void copy(void* to, const void* from, std::size_t bytes) override {
    emulator::submit([=] { std::memcpy(to, from, bytes); });
  }
  void synchronise() override { check(!captured, "[gpu] a captured step waits for the device"); }

  std::uint64_t mark() override { return 0; }
  bool passed(std::uint64_t /*mark*/) override { return !captured; }

  void begin_capture() override {
    check(!captured, "[gpu] a capture within a capture");
    captured = std::make_unique<Work>();
  }
  std::unique_ptr<GpuGraph> end_capture() override {
    const auto work = std::exchange(captured, nullptr);
    return std::make_unique<EmulatedGraph>(std::move(*work));
  }
  void abandon_capture() noexcept override { captured.reset(); }
  bool capturing() const override { return captured != nullptr; }

 private:
  static constexpr std::int64_t kMemory = std::int64_t{8} << 30;
  static constexpr std::size_t kAlignment = 256;  // as cudaMalloc aligns
  static std::size_t rounded(std::size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

  std::int64_t used_ = 0;
};

}  // namespace

namespace emulator {

void submit(std::function<void()> work) {
  if (captured)
    captured->push_back(std::move(work));
  else
    work();
}

}  // namespace emulator

template <>
CudaContext<Gpu::emulated>& cuda_context<Gpu::emulated>() {
  static CudaContext<Gpu::emulated> context{nullptr, 4, kSharedBytes, true};
  return context;
}

std::unique_ptr<GpuRuntime> make_emulated_runtime() { return std::make_unique<EmulatedRuntime>(); }

}  // namespace npzoo
