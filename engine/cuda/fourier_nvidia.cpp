#include <memory>
#include <type_traits>
#include <utility>

#include "npzoo/engine/cuda/cufft.h"
#include "npzoo/engine/cuda/fourier.h"
#include "npzoo/engine/error.h"
#include "npzoo/engine/memory.h"
#include "npzoo/engine/recent.h"

namespace npzoo {

using Cuda = CudaContext<Gpu::nvidia>;
using KernelContext = Cuda;

namespace {

constexpr std::size_t kMostFourierPlans = 64;  // each holds tables on the device

void check_fft(cufftResult status, const char* what) {
  check(status == CUFFT_SUCCESS, "[cufft] {}: error {}", what, static_cast<int>(status));
}

class FourierHandle {
 public:
  FourierHandle() { check_fft(cufft().cufftCreate(&handle_), "starting"); }
  FourierHandle(const FourierHandle&) = delete;
  FourierHandle& operator=(const FourierHandle&) = delete;
  ~FourierHandle() { cufft().cufftDestroy(handle_); }

  operator cufftHandle() const { return handle_; }

 private:
  cufftHandle handle_ = 0;
};

/// Returns the working memory of all plans, of `bytes` or more: all transforms are done in the order of one stream.
std::shared_ptr<const Buffer> working_memory(std::size_t bytes) {
  static auto* const memory = new std::shared_ptr<const Buffer>;  // lives as long as the runtime
  if (!*memory || (*memory)->bytes() < bytes) *memory = std::make_shared<const Buffer>(bytes, Device::cuda);
  return *memory;
}

/// Transforms of one kind and length.
class FourierPlan {
 public:
  FourierPlan(cufftType type, std::int64_t length, std::int64_t from, std::int64_t to, cudaStream_t stream) {
    check_fft(cufft().cufftSetAutoAllocation(handle_, 0), "planning");
    long long n = length, in = from, out = to;
    check_fft(cufft().cufftMakePlanMany64(handle_, 1, &n, &in, 1, from, &out, 1, to, type,
                                          fourier_series_at_once(length), &working_bytes_),
              "planning");
    check_fft(cufft().cufftSetStream(handle_, stream), "planning");
  }

  /// Takes the working memory, which may have grown, for the next transforms. A graph that is captured keeps it.
  void prepare() {
    if (working_bytes_ == 0) return;
    std::shared_ptr<const Buffer> memory = working_memory(working_bytes_);
    check_fft(cufft().cufftSetWorkArea(handle_, memory->data()), "preparing");
    gpu_runtime().keep_for_graph(std::move(memory));
  }
  void run(float* real, float* spectrum, bool inverse) const {
    auto* const numbers = reinterpret_cast<cufftComplex*>(spectrum);
    check_fft(inverse ? cufft().cufftExecC2R(handle_, numbers, real) : cufft().cufftExecR2C(handle_, real, numbers),
              "transforming");
  }
  void run(double* real, double* spectrum, bool inverse) const {
    auto* const numbers = reinterpret_cast<cufftDoubleComplex*>(spectrum);
    check_fft(inverse ? cufft().cufftExecZ2D(handle_, numbers, real) : cufft().cufftExecD2Z(handle_, real, numbers),
              "transforming");
  }

 private:
  FourierHandle handle_;
  std::size_t working_bytes_ = 0;
};

/// Returns the plan, ready for use. A graph that is captured keeps it, since its work reads the plan's tables.
template <class T>
std::shared_ptr<FourierPlan> plan_for(const RealFourier<T>& p, cudaStream_t stream) {
  const cufftType type =
      std::is_same_v<T, float> ? (p.inverse ? CUFFT_C2R : CUFFT_R2C) : (p.inverse ? CUFFT_Z2D : CUFFT_D2Z);
  using Key = std::pair<cufftType, std::int64_t>;
  static auto* const plans = new Recent<Key, std::shared_ptr<FourierPlan>>(kMostFourierPlans);
  const auto make = [&] {
    check(!gpu_runtime().capturing(), "[fourier] the first transform of series of {} steps cannot be captured",
          p.length);
    // A full cache destroys a plan, whose tables the device may still read.
    if (plans->size() == kMostFourierPlans) gpu_runtime().synchronise();
    const std::int64_t frequencies = p.length / 2 + 1;
    return std::make_shared<FourierPlan>(type, p.length, p.inverse ? frequencies : p.length,
                                         p.inverse ? p.length : frequencies, stream);
  };
  std::shared_ptr<FourierPlan> plan = plans->find_or_make(Key(type, p.length), make);
  plan->prepare();
  gpu_runtime().keep_for_graph(plan);
  return plan;
}

}  // namespace

template <class T>
void real_fourier(Cuda& cuda, const RealFourier<T>& p) {
  if (p.batch == 0) return;
  const std::shared_ptr<const FourierPlan> plan = plan_for(p, cuda.stream);
  const std::int64_t at_once = fourier_series_at_once(p.length);
  for (std::int64_t i = 0; i < p.batch; i += at_once)
    plan->run(p.real + i * p.length, p.spectrum + i * 2 * (p.length / 2 + 1), p.inverse);
  if (cuda.blocking && !gpu_runtime().capturing()) gpu_runtime().synchronise();
}

NPZOO_INSTANTIATE(real_fourier, RealFourier);

}  // namespace npzoo
