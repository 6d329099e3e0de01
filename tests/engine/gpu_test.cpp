#include "engine/cuda/gpu.h"

#include <numeric>

#include "engine/memory.h"
#include "engine/precision.h"
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

TEST_CASE("gpu: where nobody says so, numbers go to the default device and integers to the CPU") {
  if (!has_gpu()) return;
  const OnGpu gpu;
  CHECK(Tensor::empty({3}).device() == Device::cuda);
  CHECK(Tensor::empty({3}, DType::int64).device() == Device::cpu);
  CHECK(Tensor::from<float>({1}, {1.f}).device() == Device::cuda);
  CHECK(Tensor::from<std::int64_t>({1}, {1}).device() == Device::cpu);
  CHECK(Tensor::empty({3}, DType::float32, Device::cpu).device() == Device::cpu);
}

TEST_CASE("gpu: the host cannot read what is there") {
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

TEST_CASE("gpu: its pool has counters and limits of its own, and tells what is left when there is no more") {
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
  CHECK(message.find(" bytes free) has no 17592186044416 bytes; npzoo holds ") != std::string::npos);
  const MemoryLimit limit(memory_stats(Device::cuda).live_bytes + 1000, Device::cuda);
  CHECK_THROWS_AS(Buffer(2000, Device::cuda), OutOfMemory);
  CHECK_NOTHROW(Buffer(2000, Device::cpu));
}

TEST_CASE("gpu: a graph repeats what was done while it was captured, on the memory of then") {
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
