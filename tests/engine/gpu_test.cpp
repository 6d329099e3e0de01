#include "npzoo/engine/cuda/gpu.h"

#include <numeric>
#include <thread>

#include "npzoo/engine/cuda/gpu_selection.h"
#include "npzoo/engine/cuda/marks.h"
#include "npzoo/engine/cuda/transfer.h"
#include "npzoo/engine/memory.h"
#include "npzoo/engine/precision.h"
#include "npzoo/ops/elementwise/elementwise.h"
#include "tests/testing.h"

using namespace npzoo;
using namespace npzoo::testing;

namespace {

std::vector<double> counting(std::int64_t n) {
  std::vector<double> values(static_cast<std::size_t>(n));
  std::iota(values.begin(), values.end(), -3.5);
  return values;
}

}  // namespace

TEST_CASE("gpu: a machine without one says why in one line") {
  CHECK(list_gpus().empty() == !why_no_gpu().empty());
  CHECK(why_no_gpu().find('\n') == std::string::npos);
  CHECK(to_string(Gpu::nvidia) == "nvidia");
  CHECK(to_string(Gpu::emulated) == "emulated");
}

TEST_CASE("gpu: names of precisions") {
  for (const Precision precision : {Precision::float32, Precision::tf32, Precision::bf16})
    CHECK(parse_precision(to_string(precision)) == precision);
  CHECK(error_of([] { parse_precision("fp8"); }) == "[precision] 'fp8' found, expected float32, tf32 or bf16");
  CHECK(matmul_precision() == Precision::float32);
}

TEST_CASE("gpu: tensors move there and back, change their dtype, and are filled and copied there") {
  if (!has_gpu()) return;
  const OnCpu cpu;
  for (const std::int64_t n : {0, 1, 1000, 2'000'003}) {  // the last one takes several pieces of staging memory
    const std::vector<double> values = counting(n);
    const Tensor here = Tensor::from<double>({n}, std::span(values)), there = here.to(Device::cuda);
    CHECK(there.device() == Device::cuda);
    CHECK(doubles(there) == values);
    CHECK(doubles(there.clone()) == values);
    CHECK(there.to(DType::float32).device() == Device::cuda);
    CHECK(same_bits(there.to(DType::float32), here.to(DType::float32)));
    CHECK(same_bits(there.to(DType::float32).to(DType::float64), here.to(DType::float32).to(DType::float64)));
  }
  CHECK(doubles(Tensor::full({33}, 2.5, DType::float32, Device::cuda)) == std::vector<double>(33, 2.5));
  CHECK(doubles(Tensor::zeros({33}, DType::float64, Device::cuda)) == std::vector<double>(33));
  CHECK(Tensor::full({}, 7, DType::float64, Device::cuda).item() == 7);
  const Tensor index = Tensor::from<std::int64_t>({3}, {5, -1, 7});
  CHECK(
      std::ranges::equal(index.to(Device::cuda).to(Device::cpu).values<std::int64_t>(), index.values<std::int64_t>()));
  const Tensor none;
  CHECK_FALSE(none.to(Device::cuda).defined());
}

TEST_CASE("gpu: by default, numbers go to the default device and integers to the CPU") {
  if (!has_gpu()) return;
  const OnGpu gpu;
  CHECK(Tensor::empty({3}).device() == Device::cuda);
  CHECK(Tensor::empty({3}, DType::int64).device() == Device::cpu);
  CHECK(Tensor::from<float>({1}, {1.f}).device() == Device::cuda);
  CHECK(Tensor::from<std::int64_t>({1}, {1}).device() == Device::cpu);
  CHECK(Tensor::empty({3}, DType::float32, Device::cpu).device() == Device::cpu);
}

TEST_CASE("gpu: the host cannot read device memory") {
  if (!has_gpu() || unified_memory()) return;
  const Tensor there = Tensor::zeros({3}, DType::float32, Device::cuda);
  CHECK(error_of([&] { there.values<float>(); }) == "[tensor] elements are on cuda, expected them on the CPU");
  CHECK(error_of([&] { there.raw(); }) == "[tensor] elements are on cuda, expected them on the CPU");
}

TEST_CASE("gpu: page-locked tensors may change when a copy is through") {
  if (!has_gpu()) return;
  Tensor pinned = Tensor::pinned({1000}, DType::float64);
  CHECK(pinned.device() == Device::cpu);
  for (int round = 0; round < 3; ++round) {
    std::ranges::fill(pinned.values<double>(), round);
    const Tensor there = pinned.to(Device::cuda);
    gpu_runtime().synchronise();
    std::ranges::fill(pinned.values<double>(), -1);
    CHECK(doubles(there) == std::vector<double>(1000, round));
  }
}

TEST_CASE("gpu: the pool has its own counters and limits, and its error names the free memory") {
  if (!has_gpu()) return;
  const OnCpu cpu;
  release_cached_memory(Device::cuda);
  const MemoryStats before = memory_stats(Device::cuda), host = memory_stats(Device::cpu);
  {
    const Buffer block(1 << 20, Device::cuda);
    CHECK(memory_stats(Device::cuda).live_bytes == before.live_bytes + (1 << 20));
    CHECK(memory_stats(Device::cpu).live_bytes == host.live_bytes);
  }
  CHECK(memory_stats(Device::cuda).live_bytes == before.live_bytes);
  const std::string message = error_of([] { const Buffer huge(std::size_t{1} << 44, Device::cuda); });
  CHECK(message.starts_with("[memory] the device ("));
  CHECK(message.find(" bytes free) has no room for 17592186044416 bytes; npzoo holds ") != std::string::npos);
  const MemoryLimit limit(memory_stats(Device::cuda).live_bytes + 1000, Device::cuda);
  CHECK_THROWS_AS(Buffer(2000, Device::cuda), OutOfMemory);
  CHECK_NOTHROW(Buffer(2000, Device::cpu));
}

TEST_CASE("gpu: a graph repeats the captured work on the same memory") {
  if (!has_gpu()) return;
  const OnGpu gpu;
  GpuRuntime& runtime = gpu_runtime();
  Tensor input = Tensor::full({100}, 1, DType::float64), output = Tensor::zeros({100}, DType::float64);
  std::unique_ptr<GpuGraph> graph;
  {
    const GraphMemory room;
    runtime.begin_capture();
    const Tensor temporary = input.clone(), next = temporary.clone();
    runtime.copy(output.address(), next.address(), output.bytes());
    graph = runtime.end_capture();
    count_graphs(1);
  }
  CHECK(doubles(output) == std::vector<double>(100));
  for (int round = 2; round < 5; ++round) {
    runtime.copy(input.address(), Tensor::full({100}, round, DType::float64).address(), input.bytes());
    const Tensor other = Tensor::full({100}, 99, DType::float64);  // not in the graph's room
    graph->launch();
    CHECK(doubles(output) == std::vector<double>(100, round));
    CHECK(doubles(other) == std::vector<double>(100, 99));
  }
  runtime.synchronise();
  count_graphs(-1);
}

TEST_CASE("gpu: a graph owns what its work uses, as long as it lives") {
  if (!has_gpu()) return;
  GpuRuntime& gpu = gpu_runtime();
  auto used = std::make_shared<int>(1), dropped = std::make_shared<int>(2), idle = std::make_shared<int>(3);
  const std::weak_ptr<int> seen = used, seen_dropped = dropped, seen_idle = idle;
  gpu.keep_for_graph(std::exchange(idle, nullptr));
  CHECK(seen_idle.expired());  // nothing is captured
  gpu.begin_capture();
  gpu.keep_for_graph(std::exchange(dropped, nullptr));
  CHECK_FALSE(seen_dropped.expired());
  gpu.abandon_capture();
  CHECK(seen_dropped.expired());
  gpu.begin_capture();
  gpu.keep_for_graph(std::exchange(used, nullptr));
  std::unique_ptr<GpuGraph> graph = gpu.end_capture();
  graph->launch();
  gpu.synchronise();
  CHECK_FALSE(seen.expired());
  graph.reset();
  CHECK(seen.expired());
}

TEST_CASE("gpu: a loop of a capturing thread refuses work for the GPU instead of waiting for itself") {
  if (!has_gpu()) return;
  const Tensor there = Tensor::zeros({8}, DType::float64, Device::cuda);
  const auto message_of_loop = [&] {
    return error_of(
        [&] { thread_pool().for_range(64, 1, [&](std::int64_t, std::int64_t) { static_cast<void>(there.clone()); }); });
  };
  gpu_runtime().begin_capture();
  const std::string captured = message_of_loop();
  const std::string alone = error_of([&] { static_cast<void>(there.clone()); });
  gpu_runtime().abandon_capture();
  CHECK(
      captured ==
      "[gpu] found work for the GPU within a loop of a thread that captures a graph, expected it outside of the loop");
  CHECK(alone == "no error");
  CHECK(message_of_loop() == "no error");
}

TEST_CASE("gpu: a chunk of a loop can capture a graph of its own") {
  if (!has_gpu()) return;
  const Tensor there = Tensor::zeros({8}, DType::float64, Device::cuda);
  std::atomic<int> captured = 0;
  thread_pool().for_range(3, 1, [&](std::int64_t, std::int64_t) {
    gpu_runtime().begin_capture();
    thread_pool().for_range(5, 1, [&](std::int64_t, std::int64_t) { static_cast<void>(there.clone()); });
    gpu_runtime().abandon_capture();
    ++captured;
  });
  CHECK(captured == 3);
}

TEST_CASE("gpu: a copy holds a few pieces of page-locked memory, however large it is") {
  if (!has_gpu()) return;
  constexpr std::int64_t kPiece = 4 << 20, kElements = 10 * kPiece / 8 + 77;
  const std::vector<double> values = counting(kElements);
  const Tensor here = Tensor::from<double>({kElements}, std::span(values)).to(Device::cpu);
  gpu_runtime().synchronise();
  const auto most_pinned = [](const auto& copy) {
    static_cast<void>(Tensor::zeros({8}).to(Device::cpu).to(Device::cuda));  // takes back what is through
    const std::int64_t before = pinned_memory_stats().live_bytes;
    reset_peak_pinned_memory();
    copy();
    return pinned_memory_stats().peak_live_bytes - before;
  };
  Tensor there;
  std::vector<double> back;
  CHECK(most_pinned([&] { there = here.to(Device::cuda); }) <= 4 * kPiece);
  CHECK(most_pinned([&] { back = doubles(there); }) <= 2 * kPiece);
  CHECK(back == values);
  CHECK(most_pinned([&] {
          for (int i = 0; i < 20; ++i) there = here.to(Device::cuda);
        }) <= 4 * kPiece);
  CHECK(doubles(there) == values);
}

TEST_CASE("gpu: small copies wait for no earlier ones") {
  if (!has_gpu()) return;
  const Tensor here = Tensor::zeros({8}, DType::float64, Device::cpu);
  gpu_runtime().synchronise();
  const std::uint64_t first = gpu_runtime().mark();
  for (int i = 0; i < 20; ++i) static_cast<void>(here.to(Device::cuda));
  if (active_gpu() == Gpu::emulated) CHECK_FALSE(gpu_runtime().passed(first));  // until the host waits
  gpu_runtime().wait(first);
  CHECK(gpu_runtime().passed(first));
}

TEST_CASE("gpu: marks are passed when the host has waited, and cannot be made in a capture") {
  if (!has_gpu()) return;
  GpuRuntime& gpu = gpu_runtime();
  const std::uint64_t mark = gpu.mark();
  gpu.synchronise();
  CHECK(gpu.passed(mark));
  gpu.begin_capture();
  const std::string message = error_of([&] { gpu.mark(); });
  const bool passed = gpu.passed(mark);
  gpu.abandon_capture();
  CHECK(message == "[gpu] a captured step cannot mark the stream");
  CHECK_FALSE(passed);
  CHECK(gpu.mark() == mark + 1);  // captures use none up
}

namespace {

/// Notes what is done to events.
struct NotedEvents {
  void record(std::uint64_t i) { recorded.push_back(i), reached[i] = false; }
  void wait(std::uint64_t i) { waited.push_back(i), reached[i] = true; }
  bool done(std::uint64_t i) const { return reached[i]; }
  std::vector<std::uint64_t> recorded, waited;
  bool reached[kMarkEvents] = {};
};

}  // namespace

TEST_CASE("gpu: a mark is passed when its event is, or when another mark has taken its event") {
  NotedEvents events;
  Marks<NotedEvents> marks(events);
  const std::uint64_t first = marks.next();
  CHECK_FALSE(marks.passed(first));
  for (std::uint64_t i = 1; i < kMarkEvents; ++i) marks.next();
  CHECK(events.waited.empty());
  CHECK_FALSE(marks.passed(first));
  const std::uint64_t last = marks.next();  // takes the first one's event, and waits for it
  CHECK(events.waited == std::vector<std::uint64_t>{first % kMarkEvents});
  CHECK(events.recorded.back() == first % kMarkEvents);
  CHECK(marks.passed(first));
  CHECK_FALSE(marks.passed(last));
  marks.wait(first);
  CHECK(events.waited.size() == 1);
  marks.wait(last);
  CHECK(marks.passed(last));
}

TEST_CASE("gpu: several threads use it at a time") {
  if (!has_gpu()) return;
  const OnGpu gpu;
  std::atomic<int> wrong = 0;
  std::vector<std::thread> users;
  for (int user = 0; user < 3; ++user)
    users.emplace_back([&, user] {
      for (int i = 0; i < 150; ++i) {
        const Tensor here = Tensor::full({100}, user + i, DType::float64, Device::cpu);
        const std::vector<double> found = doubles(affine(here.to(Device::cuda), 2, 1));
        wrong += found != std::vector<double>(100, 2.0 * (user + i) + 1);
        if (i % 50 != 7) continue;
        gpu_runtime().begin_capture();  // what the other threads do meanwhile is not noted down
        const bool capturing = gpu_runtime().capturing();
        gpu_runtime().abandon_capture();
        wrong += !capturing;
      }
    });
  for (std::thread& user : users) user.join();
  CHECK(wrong == 0);
}

TEST_CASE("gpu: names of devices") {
  using Kind = DeviceName::Kind;
  CHECK(parse_device("cpu") == DeviceName{Kind::cpu});
  CHECK(parse_device("cuda") == DeviceName{Kind::cuda, 0});
  CHECK(parse_device("cuda:0") == DeviceName{Kind::cuda, 0});
  CHECK(parse_device("cuda:17") == DeviceName{Kind::cuda, 17});
  CHECK(parse_device("auto") == DeviceName{Kind::automatic});
  CHECK(parse_device("emulated") == DeviceName{Kind::emulated});
  for (const char* name :
       {"cuda:", "cuda:-1", "cuda:+1", "cuda:1x", "cuda: 1", "cuda:99999999999", "cuda1", "CUDA", "gpu"})
    CHECK(error_of([&] { parse_device(name); }) ==
          fmt::format("[device] '{}' is not a device; expected cpu, cuda, cuda:INDEX, auto or emulated", name));
  CHECK(to_string(GpuChoice{Gpu::nvidia, 3}) == "cuda:3");
  CHECK(to_string(GpuChoice{Gpu::emulated, 0}) == "emulated");
}

TEST_CASE("gpu: an index that does not exist is refused") {
  CHECK_NOTHROW(check_gpu_index(1, 2, ""));
  CHECK(error_of([] { check_gpu_index(2, 2, ""); }) ==
        "[device] cuda:2 found, expected an index below 2, the number of CUDA devices");
  CHECK(error_of([] { check_gpu_index(-1, 2, ""); }) ==
        "[device] cuda:-1 found, expected an index below 2, the number of CUDA devices");
  CHECK(error_of([] { check_gpu_index(1, 0, "no driver"); }) == "[device] no driver");
  if (list_gpus().empty()) CHECK(error_of([] { select_gpu(Gpu::nvidia, 1); }) == "[device] " + why_no_gpu());
}

namespace {

/// A runtime whose only purpose is to exist.
class NoGpu final : public GpuRuntime {
 public:
  GpuInfo info() const override { return {}; }
  void* allocate(std::size_t, bool) override { return nullptr; }
  void release(void*) noexcept override {}
  void* allocate_pinned(std::size_t) override { return nullptr; }
  void release_pinned(void*) noexcept override {}
  void fill(void*, unsigned char, std::size_t) override {}
  void copy(void*, const void*, std::size_t) override {}
  void synchronise() override {}
  std::uint64_t mark() override { return 0; }
  bool passed(std::uint64_t) override { return true; }
  void wait(std::uint64_t) override {}
  void begin_capture() override {}
  std::unique_ptr<GpuGraph> end_capture() override { return nullptr; }
  void abandon_capture() noexcept override {}
  bool capturing() const override { return false; }
  void keep_for_graph(std::shared_ptr<const void>) override {}
};

}  // namespace

TEST_CASE("gpu: a process can choose again until a GPU is started, and then keeps it") {
  constexpr GpuChoice kChoices[] = {{Gpu::emulated, 0}, {Gpu::nvidia, 0}, {Gpu::nvidia, 1}};
  for (const GpuChoice first : kChoices)
    for (const GpuChoice second : kChoices) {
      GpuSelection selection(first);
      CHECK(selection.gpu() == first.gpu);
      selection.choose(second);
      selection.choose(first);
      CHECK(error_of([&] { selection.start([](GpuChoice) -> std::unique_ptr<GpuRuntime> { fail("no library"); }); }) ==
            "no library");
      CHECK(!selection.started());
      GpuChoice made{};
      const auto make = [&](GpuChoice choice) {
        made = choice;
        return std::make_unique<NoGpu>();
      };
      GpuRuntime& runtime = selection.start(make);
      const std::unique_ptr<GpuRuntime> owner(&runtime);  // a selection never destroys it
      CHECK(made == first);
      CHECK(selection.started());
      CHECK_NOTHROW(selection.choose(first));
      CHECK(error_of([&] { selection.choose(second); }) ==
            (first == second
                 ? "no error"
                 : fmt::format("[device] {} found, expected {}: a process keeps the GPU that it has started",
                               to_string(second), to_string(first))));
      CHECK(selection.gpu() == first.gpu);
      CHECK(&selection.start(make) == &runtime);
    }
}

TEST_CASE("gpu: unified memory is chosen before a GPU is started") {
  if (!has_gpu()) return;
  static_cast<void>(gpu_runtime());
  CHECK(error_of([] { use_unified_memory(); }) == "[device] unified memory must be chosen before the GPU is started");
}
