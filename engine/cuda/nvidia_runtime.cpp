#include "npzoo/engine/cuda/nvidia_runtime.h"

#include <cuda_runtime_api.h>
#include <pthread.h>

#include <array>
#include <atomic>
#include <utility>

#include "npzoo/engine/cuda/context.h"
#include "npzoo/engine/cuda/cublas.h"
#include "npzoo/engine/cuda/gpu_selection.h"
#include "npzoo/engine/cuda/marks.h"
#include "npzoo/engine/cuda/shared_limit.h"
#include "npzoo/engine/error.h"

namespace npzoo {

namespace {

void check_cuda(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  cudaGetLastError();  // clears the error, unless it is sticky, so that it is not reported again
  fail("[cuda] {}: {} ({})", what, cudaGetErrorString(status), cudaGetErrorName(status));
}

constexpr const char* kForked =
    "no CUDA device: this process was forked from one that had used CUDA; start a new program instead, or use CUDA in "
    "the children alone";

std::atomic<bool> forked{false};

/// Notes every fork from now on. A forked child cannot use CUDA if its parent has used it.
void watch_forks() {
  static const int registered = ::pthread_atfork(nullptr, nullptr, [] { forked = true; });
  check(registered == 0, "[cuda] the system has no memory to watch for forks");
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
  /// `used` are the objects that the graph's work needs.
  NvidiaGraph(cudaGraph_t graph, cudaStream_t stream, int device, std::vector<std::shared_ptr<const void>> used)
      : stream_(stream), device_(device), used_(std::move(used)) {
    const cudaError_t status = cudaGraphInstantiate(&executable_, graph, 0);
    cudaGraphDestroy(graph);
    check_cuda(status, "making a graph");
  }
  NvidiaGraph(const NvidiaGraph&) = delete;
  NvidiaGraph& operator=(const NvidiaGraph&) = delete;
  ~NvidiaGraph() override {
    cudaSetDevice(device_);
    cudaStreamSynchronize(stream_);
    cudaGraphExecDestroy(executable_);
  }
  void launch() override {
    const GpuTurn turn;
    check_cuda(cudaSetDevice(device_), "choosing the device");
    check_cuda(cudaGraphLaunch(executable_, stream_), "launching a graph");
    if (unified_memory()) check_cuda(cudaStreamSynchronize(stream_), "waiting for a graph");
  }

 private:
  cudaStream_t stream_;
  int device_;
  std::vector<std::shared_ptr<const void>> used_;
  cudaGraphExec_t executable_ = nullptr;
};

/// The events of a stream, by their index.
class NvidiaEvents {
 public:
  void open(cudaStream_t stream) {
    stream_ = stream;
    for (cudaEvent_t& event : events_)
      check_cuda(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "making an event");
  }
  void record(std::uint64_t i) { check_cuda(cudaEventRecord(events_[i], stream_), "recording an event"); }
  void wait(std::uint64_t i) { check_cuda(cudaEventSynchronize(events_[i]), "waiting for an event"); }
  bool done(std::uint64_t i) {
    const cudaError_t status = cudaEventQuery(events_[i]);
    if (status == cudaErrorNotReady) {
      cudaGetLastError();
      return false;
    }
    check_cuda(status, "asking for an event");
    return true;
  }

 private:
  cudaStream_t stream_ = nullptr;
  std::array<cudaEvent_t, kMarkEvents> events_{};
};

/// Each function first makes this runtime's device the calling thread's: CUDA keeps one for each thread, and a new
/// thread starts with device 0.
class NvidiaRuntime final : public GpuRuntime {
 public:
  explicit NvidiaRuntime(int index) : index_(index) {
    use_device();
    check_cuda(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "making a stream");
    events_.open(stream_);
  }
  NvidiaRuntime(const NvidiaRuntime&) = delete;
  NvidiaRuntime& operator=(const NvidiaRuntime&) = delete;

  GpuInfo info() const override {
    use_device();
    GpuInfo info = info_of(index_);
    info.free_bytes = static_cast<std::int64_t>(free_memory());
    return info;
  }

  void* allocate(std::size_t bytes, bool unified) override {
    use_device();
    void* memory = nullptr;
    // The driver would hand out more unified memory than there is.
    if (unified && bytes > free_memory()) return nullptr;
    const cudaError_t status = unified ? cudaMallocManaged(&memory, bytes) : cudaMalloc(&memory, bytes);
    return checked(status, memory, "allocating memory");
  }
  // Otherwise the first call on a new thread would start device 0.
  void release(void* memory) noexcept override {
    cudaSetDevice(index_);
    cudaFree(memory);
  }
  void* allocate_pinned(std::size_t bytes) override {
    use_device();
    void* memory = nullptr;
    const cudaError_t status = cudaMallocHost(&memory, bytes);
    return checked(status, memory, "allocating page-locked memory");
  }
  void release_pinned(void* memory) noexcept override {
    cudaSetDevice(index_);
    cudaFreeHost(memory);
  }

  void fill(void* to, unsigned char value, std::size_t bytes) override {
    const GpuTurn turn;
    use_device();
    check_cuda(cudaMemsetAsync(to, value, bytes, stream_), "filling memory");
    if (unified_memory() && !capturing_) synchronise();
  }
  void copy(void* to, const void* from, std::size_t bytes) override {
    const GpuTurn turn;
    use_device();
    check_cuda(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream_), "copying memory");
    if (unified_memory() && !capturing_) synchronise();
  }
  void synchronise() override {
    const GpuTurn turn;
    use_device();
    check_cuda(cudaStreamSynchronize(stream_), "waiting for the device");
  }

  std::uint64_t mark() override {
    const GpuTurn turn;
    use_device();
    check(!capturing_, "[gpu] a captured step cannot mark the stream");
    return marks_.next();
  }
  bool passed(std::uint64_t mark) override {
    const GpuTurn turn;
    use_device();
    return !capturing_ && marks_.passed(mark);
  }
  void wait(std::uint64_t mark) override {
    const GpuTurn turn;
    use_device();
    check(!capturing_, "[gpu] a captured step cannot wait for the device");
    marks_.wait(mark);
  }

  void begin_capture() override {
    auto capture = std::make_unique<CaptureTurn>();
    use_device();
    check_cuda(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeRelaxed), "beginning a capture");
    capturing_ = true;
    capture_ = std::move(capture);
  }
  std::unique_ptr<GpuGraph> end_capture() override {
    const auto capture = std::move(capture_);
    auto used = std::exchange(used_, {});
    cudaGraph_t graph = nullptr;
    capturing_ = false;
    check_cuda(cudaStreamEndCapture(stream_, &graph), "ending a capture");
    return std::make_unique<NvidiaGraph>(graph, stream_, index_, std::move(used));
  }
  void abandon_capture() noexcept override {
    const auto capture = std::move(capture_);
    const auto used = std::exchange(used_, {});
    cudaGraph_t graph = nullptr;
    capturing_ = false;
    // This call fails if the device is in error. We ignore it: the error has been reported already.
    if (cudaStreamEndCapture(stream_, &graph) != cudaSuccess) cudaGetLastError();
    if (graph != nullptr) cudaGraphDestroy(graph);
  }
  bool capturing() const override {
    const GpuTurn turn;
    return capturing_;
  }
  void keep_for_graph(std::shared_ptr<const void> object) override {
    const GpuTurn turn;
    if (capturing_) used_.push_back(std::move(object));
  }

  cudaStream_t stream() const { return stream_; }
  void use_device() const {
    check(!forked, "[device] {}", kForked);
    check_cuda(cudaSetDevice(index_), "choosing the device");
  }

 private:
  static std::size_t free_memory() {
    std::size_t free = 0, total = 0;
    check_cuda(cudaMemGetInfo(&free, &total), "reading the free memory");
    return free;
  }
  static void* checked(cudaError_t status, void* memory, const char* what) {
    if (status == cudaErrorMemoryAllocation) {
      cudaGetLastError();
      return nullptr;
    }
    check_cuda(status, what);
    return memory;
  }

  int index_;
  cudaStream_t stream_ = nullptr;
  NvidiaEvents events_;
  Marks<NvidiaEvents> marks_{events_};
  bool capturing_ = false;
  std::unique_ptr<CaptureTurn> capture_;           // held while a graph is captured
  std::vector<std::shared_ptr<const void>> used_;  // by the graph that is being captured
};

/// Returns the started runtime. Throws Error if the process has started the emulated device.
NvidiaRuntime& nvidia_runtime() {
  auto* const runtime = dynamic_cast<NvidiaRuntime*>(&gpu_runtime());
  check(runtime != nullptr, "[device] the emulated device found, expected a CUDA device");
  return *runtime;
}

}  // namespace

template <>
CudaContext<Gpu::nvidia>& cuda_context<Gpu::nvidia>() {
  static NvidiaRuntime& runtime = nvidia_runtime();
  static CudaContext<Gpu::nvidia> context = [] {
    const GpuInfo info = runtime.info();
    return CudaContext<Gpu::nvidia>{runtime.stream(), info.multiprocessors, info.shared_bytes, unified_memory()};
  }();
  runtime.use_device();
  return context;
}

void check_launch(const CudaContext<Gpu::nvidia>& cuda, const char* kernel) {
  cudaError_t status = cudaGetLastError();
  if (status == cudaSuccess && cuda.blocking && !gpu_runtime().capturing()) status = cudaStreamSynchronize(cuda.stream);
  check_cuda(status, kernel);
}

void allow_shared_memory(const CudaContext<Gpu::nvidia>& cuda, const char* name, const void* kernel,
                         std::size_t bytes) {
  check_shared_memory("cuda", name, bytes, cuda.shared_bytes);
  const cudaError_t status =
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes));
  if (status == cudaSuccess) return;
  cudaGetLastError();
  fail("[cuda] kernel {}: {} bytes of shared memory were refused by a device with {}: {} ({})", name, bytes,
       cuda.shared_bytes, cudaGetErrorString(status), cudaGetErrorName(status));
}

std::unique_ptr<GpuRuntime> make_nvidia_runtime(int index) {
  check_gpu_index(index, std::ssize(list_nvidia_gpus()), why_no_nvidia_gpu());
  cublas_lt();  // a missing library is an error now, not in the first product
  return std::make_unique<NvidiaRuntime>(index);
}

std::vector<GpuInfo> list_nvidia_gpus() {
  if (forked) return {};
  watch_forks();
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
  if (forked) return kForked;
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
