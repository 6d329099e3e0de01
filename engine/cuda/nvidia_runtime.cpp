#include "engine/cuda/nvidia_runtime.h"

#include <cuda_runtime_api.h>

#include "engine/cuda/context.h"
#include "engine/cuda/cublas.h"
#include "engine/error.h"

namespace npzoo {

namespace {

void check_cuda(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  cudaGetLastError();  // what is not sticky must not be reported again
  fail("[cuda] {}: {} ({})", what, cudaGetErrorString(status), cudaGetErrorName(status));
}

std::string version_text(int version) { return fmt::format("{}.{}", version / 1000, version % 1000 / 10); }

GpuInfo info_of(int device) {
  cudaDeviceProp properties{};
  check_cuda(cudaGetDeviceProperties(&properties, device), "reading a device's properties");
  int driver = 0;
  check_cuda(cudaDriverGetVersion(&driver), "reading the driver's version");
  return {.name = properties.name,
          .major = properties.major,
          .minor = properties.minor,
          .multiprocessors = properties.multiProcessorCount,
          .memory_bytes = static_cast<std::int64_t>(properties.totalGlobalMem),
          .shared_bytes = static_cast<int>(properties.sharedMemPerBlockOptin),
          .driver = version_text(driver)};
}

class NvidiaGraph final : public GpuGraph {
 public:
  NvidiaGraph(cudaGraph_t graph, cudaStream_t stream) : stream_(stream) {
    const cudaError_t status = cudaGraphInstantiate(&executable_, graph, 0);
    cudaGraphDestroy(graph);
    check_cuda(status, "making a graph");
  }
  NvidiaGraph(const NvidiaGraph&) = delete;
  NvidiaGraph& operator=(const NvidiaGraph&) = delete;
  ~NvidiaGraph() override {
    cudaStreamSynchronize(stream_);
    cudaGraphExecDestroy(executable_);
  }
  void launch() override {
    check_cuda(cudaGraphLaunch(executable_, stream_), "launching a graph");
    if (unified_memory()) check_cuda(cudaStreamSynchronize(stream_), "waiting for a graph");
  }

 private:
  cudaStream_t stream_;
  cudaGraphExec_t executable_ = nullptr;
};

class NvidiaRuntime final : public GpuRuntime {
 public:
  NvidiaRuntime() {
    check_cuda(cudaSetDevice(0), "choosing the device");
    check_cuda(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "making a stream");
    for (cudaEvent_t& event : events_)
      check_cuda(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "making an event");
  }
  NvidiaRuntime(const NvidiaRuntime&) = delete;
  NvidiaRuntime& operator=(const NvidiaRuntime&) = delete;

  GpuInfo info() const override {
    GpuInfo info = info_of(0);
    std::size_t free = 0, total = 0;
    check_cuda(cudaMemGetInfo(&free, &total), "reading the free memory");
    info.free_bytes = static_cast<std::int64_t>(free);
    return info;
  }

  void* allocate(std::size_t bytes, bool unified) override {
    void* memory = nullptr;
    const cudaError_t status = unified ? cudaMallocManaged(&memory, bytes) : cudaMalloc(&memory, bytes);
    return checked(status, memory, "allocating memory");
  }
  void release(void* memory) noexcept override { cudaFree(memory); }
  void* allocate_pinned(std::size_t bytes) override {
    void* memory = nullptr;
    return checked(cudaMallocHost(&memory, bytes), memory, "allocating page-locked memory");
  }
  void release_pinned(void* memory) noexcept override { cudaFreeHost(memory); }

  void fill(void* to, unsigned char value, std::size_t bytes) override {
    check_cuda(cudaMemsetAsync(to, value, bytes, stream_), "filling memory");
    if (unified_memory() && !capturing_) synchronise();
  }
  void copy(void* to, const void* from, std::size_t bytes) override {
    check_cuda(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream_), "copying memory");
    if (unified_memory() && !capturing_) synchronise();
  }
  void synchronise() override { check_cuda(cudaStreamSynchronize(stream_), "waiting for the device"); }

  std::uint64_t mark() override {
    if (capturing_) return ++marks_;
    const std::uint64_t mark = ++marks_;
    if (mark > kEvents) check_cuda(cudaEventSynchronize(events_[mark % kEvents]), "waiting for an event");
    check_cuda(cudaEventRecord(events_[mark % kEvents], stream_), "recording an event");
    return mark;
  }
  bool passed(std::uint64_t mark) override {
    if (capturing_) return false;
    if (mark + kEvents <= marks_) return true;  // its event was waited for before it was used again
    const cudaError_t status = cudaEventQuery(events_[mark % kEvents]);
    if (status == cudaErrorNotReady) {
      cudaGetLastError();
      return false;
    }
    check_cuda(status, "asking for an event");
    return true;
  }

  void begin_capture() override {
    check_cuda(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeRelaxed), "beginning a capture");
    capturing_ = true;
  }
  std::unique_ptr<GpuGraph> end_capture() override {
    cudaGraph_t graph = nullptr;
    capturing_ = false;
    check_cuda(cudaStreamEndCapture(stream_, &graph), "ending a capture");
    return std::make_unique<NvidiaGraph>(graph, stream_);
  }
  void abandon_capture() noexcept override {
    cudaGraph_t graph = nullptr;
    capturing_ = false;
    // Fails where the error that ended the capture was the device's own: that one has been reported.
    if (cudaStreamEndCapture(stream_, &graph) != cudaSuccess) cudaGetLastError();
    if (graph != nullptr) cudaGraphDestroy(graph);
  }
  bool capturing() const override { return capturing_; }

  cudaStream_t stream() const { return stream_; }

 private:
  static void* checked(cudaError_t status, void* memory, const char* what) {
    if (status == cudaErrorMemoryAllocation) {
      cudaGetLastError();
      return nullptr;
    }
    check_cuda(status, what);
    return memory;
  }

  static constexpr std::uint64_t kEvents = 64;

  cudaStream_t stream_ = nullptr;
  cudaEvent_t events_[kEvents]{};
  std::uint64_t marks_ = 0;
  bool capturing_ = false;
};

}  // namespace

template <>
CudaContext<Gpu::nvidia>& cuda_context<Gpu::nvidia>() {
  static CudaContext<Gpu::nvidia> context = [] {
    auto& runtime = dynamic_cast<NvidiaRuntime&>(gpu_runtime());
    const GpuInfo info = runtime.info();
    return CudaContext<Gpu::nvidia>{runtime.stream(), info.multiprocessors, info.shared_bytes, unified_memory()};
  }();
  return context;
}

void check_launch(const CudaContext<Gpu::nvidia>& cuda, const char* kernel) {
  cudaError_t status = cudaGetLastError();
  if (status == cudaSuccess && cuda.blocking && !gpu_runtime().capturing()) status = cudaStreamSynchronize(cuda.stream);
  check_cuda(status, kernel);
}

std::unique_ptr<GpuRuntime> make_nvidia_runtime() {
  check(!list_nvidia_gpus().empty(), "[device] {}", why_no_nvidia_gpu());
  cublas();  // what is missing is told at once
  return std::make_unique<NvidiaRuntime>();
}

std::vector<GpuInfo> list_nvidia_gpus() {
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess) {
    cudaGetLastError();
    return {};
  }
  std::vector<GpuInfo> found;
  for (int i = 0; i < count; ++i) found.push_back(info_of(i));
  return found;
}

std::string why_no_nvidia_gpu() {
  int count = 0, driver = 0, runtime = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  cudaGetLastError();
  if (status == cudaSuccess && count > 0) return "";
  cudaDriverGetVersion(&driver);
  cudaRuntimeGetVersion(&runtime);
  if (driver == 0) return "no CUDA device: this machine has no NVIDIA driver";
  if (status == cudaErrorInsufficientDriver)
    return fmt::format("no CUDA device: the driver supports CUDA {}, this build needs {}", version_text(driver),
                       version_text(runtime));
  return fmt::format("no CUDA device: {}", cudaGetErrorString(status == cudaSuccess ? cudaErrorNoDevice : status));
}

}  // namespace npzoo
