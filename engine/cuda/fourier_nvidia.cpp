#include <map>
#include <type_traits>
#include <utility>

#include "npzoo/engine/cuda/cufft.h"
#include "npzoo/engine/cuda/fourier.h"
#include "npzoo/engine/error.h"
#include "npzoo/engine/memory.h"

namespace npzoo {

namespace {

void check_fft(cufftResult status, const char* what) {
  check(status == CUFFT_SUCCESS, "[cufft] {}: error {}", what, static_cast<int>(status));
}

/// Transforms of one kind and length, with the memory that they work in: captured graphs keep its address.
class FourierPlan {
 public:
  FourierPlan(cufftType type, std::int64_t length, std::int64_t from, std::int64_t to, cudaStream_t stream) {
    check_fft(cufft().cufftCreate(&handle_), "starting");
    check_fft(cufft().cufftSetAutoAllocation(handle_, 0), "planning");
    long long n = length, in = from, out = to;
    std::size_t bytes = 0;
    check_fft(cufft().cufftMakePlanMany64(handle_, 1, &n, &in, 1, from, &out, 1, to, type,
                                          fourier_series_at_once(length), &bytes),
              "planning");
    if (bytes > 0) {
      memory_ = Buffer(bytes, Device::cuda);
      check_fft(cufft().cufftSetWorkArea(handle_, memory_.data()), "planning");
    }
    check_fft(cufft().cufftSetStream(handle_, stream), "planning");
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
  cufftHandle handle_ = 0;
  Buffer memory_;
};

template <class T>
const FourierPlan& plan_for(const RealFourier<T>& p, cudaStream_t stream) {
  const cufftType type =
      std::is_same_v<T, float> ? (p.inverse ? CUFFT_C2R : CUFFT_R2C) : (p.inverse ? CUFFT_Z2D : CUFFT_D2Z);
  using Key = std::pair<cufftType, std::int64_t>;
  static auto* const plans = new std::map<Key, FourierPlan>;  // as many as there are lengths in use
  const Key key(type, p.length);
  const auto found = plans->find(key);
  if (found != plans->end()) return found->second;
  check(!gpu_runtime().capturing(), "[fourier] the first transform of series of {} steps cannot be captured", p.length);
  const std::int64_t frequencies = p.length / 2 + 1;
  return plans
      ->try_emplace(key, type, p.length, p.inverse ? frequencies : p.length, p.inverse ? p.length : frequencies, stream)
      .first->second;
}

}  // namespace

template <class T, Gpu gpu>
void real_fourier(CudaContext<gpu>& cuda, const RealFourier<T>& p) {
  if (p.batch == 0) return;
  const FourierPlan& plan = plan_for(p, cuda.stream);
  const std::int64_t at_once = fourier_series_at_once(p.length);
  for (std::int64_t i = 0; i < p.batch; i += at_once)
    plan.run(p.real + i * p.length, p.spectrum + i * 2 * (p.length / 2 + 1), p.inverse);
  if (cuda.blocking && !gpu_runtime().capturing()) gpu_runtime().synchronise();
}

using KernelContext = CudaContext<Gpu::nvidia>;
NPZOO_INSTANTIATE(real_fourier, RealFourier);

}  // namespace npzoo
