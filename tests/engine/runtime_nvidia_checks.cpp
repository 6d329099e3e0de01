#include <array>
#include <memory>
#include <thread>

#include "npzoo/engine/cuda/context.h"
#include "npzoo/engine/cuda/gpu_selection.h"
#include "npzoo/engine/cuda/marks.h"
#include "npzoo/engine/cuda/nvidia_runtime.h"
#include "npzoo/engine/cuda/shared_limit.h"
#include "npzoo/engine/error.h"
#include "tests/engine/fake_cuda.h"
#include "tests/testing.h"

// Runs nvidia_runtime.cpp unchanged on a CUDA that works on the host, in builds with kernels for NVIDIA devices.

namespace npzoo {

std::unique_ptr<GpuRuntime> make_faked_runtime(int index);
std::vector<GpuInfo> list_faked_gpus();
std::string why_no_faked_gpu();
template <Gpu gpu>
CudaContext<gpu>& faked_context();

namespace {

int lt_loads = 0;
GpuRuntime* started = nullptr;  // what the faked process has started

void fake_cublas_lt() { ++lt_loads; }
GpuRuntime& faked_gpu_runtime() { return *started; }

}  // namespace

}  // namespace npzoo

#include "npzoo/engine/cuda/cublas.h"

#define cudaGetLastError fake_cuda::GetLastError
#define cudaGetErrorString fake_cuda::GetErrorString
#define cudaGetErrorName fake_cuda::GetErrorName
#define cudaGetDeviceCount fake_cuda::GetDeviceCount
#undef cudaGetDeviceProperties
#define cudaGetDeviceProperties fake_cuda::GetDeviceProperties
#define cudaDriverGetVersion fake_cuda::DriverGetVersion
#define cudaRuntimeGetVersion fake_cuda::RuntimeGetVersion
#define cudaSetDevice fake_cuda::SetDevice
#define cudaMemGetInfo fake_cuda::MemGetInfo
#define cudaMalloc fake_cuda::Malloc
#define cudaMallocManaged fake_cuda::MallocManaged
#define cudaMallocHost fake_cuda::MallocHost
#define cudaFree fake_cuda::Free
#define cudaFreeHost fake_cuda::FreeHost
#define cudaMemsetAsync fake_cuda::MemsetAsync
#define cudaMemcpyAsync fake_cuda::MemcpyAsync
#define cudaStreamCreateWithFlags fake_cuda::StreamCreateWithFlags
#define cudaStreamSynchronize fake_cuda::StreamSynchronize
#define cudaEventCreateWithFlags fake_cuda::EventCreateWithFlags
#define cudaEventRecord fake_cuda::EventRecord
#define cudaEventSynchronize fake_cuda::EventSynchronize
#define cudaEventQuery fake_cuda::EventQuery
#define cudaStreamBeginCapture fake_cuda::StreamBeginCapture
#define cudaStreamEndCapture fake_cuda::StreamEndCapture
#define cudaGraphInstantiate fake_cuda::GraphInstantiate
#define cudaGraphDestroy fake_cuda::GraphDestroy
#define cudaGraphExecDestroy fake_cuda::GraphExecDestroy
#define cudaGraphLaunch fake_cuda::GraphLaunch
#define cudaFuncSetAttribute fake_cuda::FuncSetAttribute
#define make_nvidia_runtime make_faked_runtime
#define list_nvidia_gpus list_faked_gpus
#define why_no_nvidia_gpu why_no_faked_gpu
#define cuda_context faked_context
#define gpu_runtime faked_gpu_runtime
#define cublas_lt fake_cublas_lt
#define check_launch check_faked_launch
#define allow_shared_memory allow_faked_memory
#include "npzoo/engine/cuda/nvidia_runtime.cpp"
#undef gpu_runtime

namespace npzoo {

namespace {

using namespace testing;

/// A machine with two devices, of which the process has started one.
struct Started {
  explicit Started(int index) {
    fake_cuda::machine = {};
    runtime = make_faked_runtime(index);
    npzoo::started = runtime.get();
  }
  std::unique_ptr<GpuRuntime> runtime;
};

}  // namespace

TEST_CASE("nvidia: each function works on the device of the runtime, on every thread") {
  const Started second(1);
  GpuRuntime& gpu = *second.runtime;
  CHECK(lt_loads > 0);  // a missing library shows at once
  CHECK(gpu.info().name == "second");
  CHECK(gpu.info().multiprocessors == 11);
  void* memory = nullptr;
  std::thread([&] {
    CHECK(fake_cuda::device == 0);
    memory = gpu.allocate(100, false);
    CHECK(fake_cuda::device == 1);
  }).join();
  CHECK(fake_cuda::memory.contains({memory, 1}));
  void* const pinned = gpu.allocate_pinned(8);
  CHECK(pinned != nullptr);
  gpu.begin_capture();
  std::unique_ptr<GpuGraph> graph = gpu.end_capture();
  for (const auto& call : std::initializer_list<std::function<void()>>{
           [&] { gpu.fill(memory, 0, 100); }, [&] { gpu.copy(memory, memory, 0); }, [&] { gpu.synchronise(); },
           [&] { gpu.mark(); }, [&] { static_cast<void>(gpu.passed(1)); }, [&] { gpu.wait(1); },
           [&] { gpu.release_pinned(gpu.allocate_pinned(8)); }, [&] { gpu.begin_capture(); },
           [&] { static_cast<void>(gpu.info()); }, [&] { graph->launch(); }, [&] { graph.reset(); },
           [&] { gpu.release(memory); }, [&] { gpu.release_pinned(pinned); }})
    std::thread([&] {
      call();
      CHECK(fake_cuda::device == 1);
      if (gpu.capturing()) gpu.abandon_capture();
    }).join();
  CHECK(fake_cuda::memory.empty());
  CHECK(gpu.allocate(std::size_t{1} << 50, false) == nullptr);
}

TEST_CASE("nvidia: a device that does not exist is refused, and a machine without one says why") {
  fake_cuda::machine = {};
  CHECK(error_of([] { make_faked_runtime(2); }) ==
        "[device] cuda:2 found, expected an index below 2, the number of CUDA devices");
  CHECK(list_faked_gpus().size() == 2);
  CHECK(why_no_faked_gpu().empty());
  fake_cuda::machine.devices = fake_cuda::machine.driver = 0;
  CHECK(list_faked_gpus().empty());
  CHECK(error_of([] { make_faked_runtime(0); }) == "[device] no CUDA device: this machine has no NVIDIA driver");
}

TEST_CASE("nvidia: a mark is passed when its event is") {
  const Started device(0);
  GpuRuntime& gpu = *device.runtime;
  const std::uint64_t mark = gpu.mark();
  CHECK(fake_cuda::machine.recorded == 1);
  CHECK_FALSE(gpu.passed(mark));
  fake_cuda::machine.events_pass = true;
  CHECK(gpu.passed(mark));
  fake_cuda::machine.events_pass = false;
  gpu.wait(mark);
  CHECK(fake_cuda::machine.waits == 1);
  for (std::uint64_t i = 0; i < kMarkEvents; ++i) gpu.mark();
  CHECK(fake_cuda::machine.waits == 2);  // for the event that was used again
  CHECK(gpu.passed(mark));
}

TEST_CASE("nvidia: a capture takes no marks, ends in a graph, and can be abandoned") {
  const Started device(0);
  GpuRuntime& gpu = *device.runtime;
  const std::uint64_t mark = gpu.mark();
  fake_cuda::machine.events_pass = true;
  gpu.begin_capture();
  CHECK(gpu.capturing());
  CHECK_FALSE(gpu.passed(mark));
  CHECK(error_of([&] { gpu.mark(); }) == "[gpu] a captured step cannot mark the stream");
  CHECK(error_of([&] { gpu.wait(mark); }) == "[gpu] a captured step cannot wait for the device");
  CHECK(gpu.end_capture() != nullptr);
  CHECK_FALSE(fake_cuda::machine.capturing);
  CHECK(gpu.mark() == mark + 1);
  gpu.begin_capture();
  gpu.abandon_capture();
  CHECK_FALSE(gpu.capturing());
  CHECK(fake_cuda::machine.graphs == 0);
}

TEST_CASE("nvidia: more shared memory than the device has, or than it grants, is an error with both numbers") {
  const Started device(0);
  const CudaContext<Gpu::nvidia>& cuda = faked_context<Gpu::nvidia>();
  CHECK(cuda.shared_bytes == 99 << 10);
  allow_faked_memory(cuda, "tile", nullptr, 99 << 10);
  CHECK(fake_cuda::machine.attribute_bytes == 99 << 10);
  CHECK(error_of([&] { allow_faked_memory(cuda, "tile", nullptr, (99 << 10) + 1); }) ==
        "[cuda] kernel tile: 101377 bytes of shared memory found, expected at most 101376, the limit of this device");
  fake_cuda::machine.attribute_status = cudaErrorInvalidValue;
  CHECK(error_of([&] { allow_faked_memory(cuda, "tile", nullptr, 60'000); }) ==
        "[cuda] kernel tile: 60000 bytes of shared memory were refused by a device with 101376: an error "
        "(cudaErrorInvalidValue)");
}

}  // namespace npzoo
