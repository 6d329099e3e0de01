#include "npzoo/engine/cuda/emulated_runtime.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "npzoo/engine/cuda/context.h"
#include "npzoo/engine/cuda/marks.h"
#include "npzoo/engine/error.h"

namespace npzoo {

namespace {

constexpr int kSharedBytes = 227 * 1024;  // as on sm_90

}  // namespace

template <>
CudaContext<Gpu::emulated>& cuda_context<Gpu::emulated>() {
  static CudaContext<Gpu::emulated> context{nullptr, 4, kSharedBytes, true};
  return context;
}

namespace {

struct Work {
  std::vector<std::function<void()>> steps;
  std::vector<std::shared_ptr<const void>> used;
};

/// Null while nothing is captured. Used within a GpuTurn.
std::unique_ptr<Work> captured;

std::atomic<std::int64_t> submitted{0};  // kernels

void hand_over(std::function<void()> work) {
  const GpuTurn turn;
  if (captured)
    captured->steps.push_back(std::move(work));
  else
    work();
}

/// Events of a stream whose work is done at once. The host learns that only when it waits, as with a slow device.
struct EmulatedEvents {
  void record(std::uint64_t i) { known[i] = false; }
  bool done(std::uint64_t i) const { return known[i]; }
  void wait(std::uint64_t i) { known[i] = true; }
  void wait_for_all() { std::ranges::fill(known, true); }

  std::array<bool, kMarkEvents> known{};
};

class EmulatedGraph final : public GpuGraph {
 public:
  explicit EmulatedGraph(Work work) : work_(std::move(work)) {}
  void launch() override {
    const GpuTurn turn;
    for (const auto& step : work_.steps) hand_over(step);
  }

 private:
  Work work_;
};

class EmulatedRuntime final : public GpuRuntime {
 public:
  GpuInfo info() const override {
    const CudaContext<Gpu::emulated>& cuda = cuda_context<Gpu::emulated>();
    return {"emulation on the CPU", 9, 0, cuda.multiprocessors, kMemory, kMemory - used_, cuda.shared_bytes, "none"};
  }

  void* allocate(std::size_t bytes, bool /*unified*/) override {
    const auto wanted = static_cast<std::int64_t>(bytes);
    std::byte* memory = nullptr;
    if (used_.fetch_add(wanted) + wanted <= kMemory)
      memory = static_cast<std::byte*>(std::aligned_alloc(kAlignment, kAlignment + rounded(bytes)));
    if (!memory) {
      used_ -= wanted;
      return nullptr;
    }
    std::memcpy(memory, &bytes, sizeof(bytes));
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
    hand_over([=] { std::memset(to, value, bytes); });
  }
  void copy(void* to, const void* from, std::size_t bytes) override {
    hand_over([=] { std::memcpy(to, from, bytes); });
  }
  void synchronise() override {
    const GpuTurn turn;
    check(!captured, "[gpu] a captured step cannot wait for the device");
    events_.wait_for_all();
  }

  std::uint64_t mark() override {
    const GpuTurn turn;
    check(!captured, "[gpu] a captured step cannot mark the stream");
    return marks_.next();
  }
  bool passed(std::uint64_t mark) override {
    const GpuTurn turn;
    return !captured && marks_.passed(mark);
  }
  void wait(std::uint64_t mark) override {
    const GpuTurn turn;
    check(!captured, "[gpu] a captured step cannot wait for the device");
    marks_.wait(mark);
  }

  void begin_capture() override {
    const GpuTurn turn;
    check(!captured, "[gpu] found a capture within a capture, expected one at a time");
    capture_ = std::make_unique<CaptureTurn>();
    captured = std::make_unique<Work>();
  }
  std::unique_ptr<GpuGraph> end_capture() override {
    const auto capture = std::move(capture_);
    const auto work = std::exchange(captured, nullptr);
    return std::make_unique<EmulatedGraph>(std::move(*work));
  }
  void abandon_capture() noexcept override {
    const auto capture = std::move(capture_);
    captured.reset();
  }
  bool capturing() const override {
    const GpuTurn turn;
    return captured != nullptr;
  }
  void keep_for_graph(std::shared_ptr<const void> object) override {
    const GpuTurn turn;
    if (captured) captured->used.push_back(std::move(object));
  }

 private:
  static constexpr std::int64_t kMemory = std::int64_t{8} << 30;
  static constexpr std::size_t kAlignment = 256;  // as cudaMalloc aligns
  static std::size_t rounded(std::size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

  std::atomic<std::int64_t> used_{0};
  EmulatedEvents events_;
  Marks<EmulatedEvents> marks_{events_};
  std::unique_ptr<CaptureTurn> capture_;  // held while a graph is captured
};

}  // namespace

namespace emulator {

void submit(std::function<void()> work) {
  ++submitted;
  hand_over(std::move(work));
}

std::int64_t submitted_kernels() { return submitted; }

}  // namespace emulator

std::unique_ptr<GpuRuntime> make_emulated_runtime() { return std::make_unique<EmulatedRuntime>(); }

}  // namespace npzoo
