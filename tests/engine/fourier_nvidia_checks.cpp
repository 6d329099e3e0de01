#include <memory>
#include <set>
#include <type_traits>
#include <utility>

#include "npzoo/engine/cuda/cufft.h"
#include "npzoo/engine/cuda/fourier.h"
#include "npzoo/engine/memory.h"
#include "npzoo/engine/recent.h"
#include "tests/testing.h"

// Runs fourier_nvidia.cpp unchanged on a library that transforms nothing and notes its calls, in builds with kernels
// for NVIDIA devices. The working memory is that of the emulated device.

namespace npzoo {

namespace {

struct FakeFourierLibrary {
  int made = 0, transforms = 0;
  std::set<cufftHandle> alive;
  std::set<void*> areas;  // of working memory
  bool refuses_plans = false;
} fourier_library;

/// Has the members of CuFft that fourier_nvidia.cpp calls.
struct FakeCuFft {
  static cufftResult cufftCreate(cufftHandle* handle) {
    fourier_library.alive.insert(*handle = ++fourier_library.made);
    return CUFFT_SUCCESS;
  }
  static cufftResult cufftDestroy(cufftHandle handle) {
    CHECK(fourier_library.alive.erase(handle) == 1);
    return CUFFT_SUCCESS;
  }
  static cufftResult cufftSetAutoAllocation(cufftHandle, int automatic) {
    CHECK(automatic == 0);
    return CUFFT_SUCCESS;
  }
  static cufftResult cufftMakePlanMany64(cufftHandle, int, long long* length, long long*, long long, long long,
                                         long long*, long long, long long, cufftType, long long, std::size_t* bytes) {
    *bytes = static_cast<std::size_t>(*length) * 1000;
    return fourier_library.refuses_plans ? CUFFT_ALLOC_FAILED : CUFFT_SUCCESS;
  }
  static cufftResult cufftSetStream(cufftHandle, cudaStream_t) { return CUFFT_SUCCESS; }
  static cufftResult cufftSetWorkArea(cufftHandle, void* area) {
    fourier_library.areas.insert(area);
    return CUFFT_SUCCESS;
  }
  static cufftResult transform(cufftHandle handle) {
    CHECK(fourier_library.alive.contains(handle));
    ++fourier_library.transforms;
    return CUFFT_SUCCESS;
  }
  static cufftResult cufftExecC2R(cufftHandle handle, cufftComplex*, float*) { return transform(handle); }
  static cufftResult cufftExecR2C(cufftHandle handle, float*, cufftComplex*) { return transform(handle); }
  static cufftResult cufftExecZ2D(cufftHandle handle, cufftDoubleComplex*, double*) { return transform(handle); }
  static cufftResult cufftExecD2Z(cufftHandle handle, double*, cufftDoubleComplex*) { return transform(handle); }
};

FakeCuFft fake_cufft() { return {}; }

}  // namespace

template <class T>
void fourier_on_fake(CudaContext<Gpu::nvidia>& cuda, const RealFourier<T>& p);

}  // namespace npzoo

#define cufft fake_cufft
#define real_fourier fourier_on_fake
#include "npzoo/engine/cuda/fourier_nvidia.cpp"
#undef cufft
#undef real_fourier

namespace npzoo {

namespace {

using namespace testing;

/// Transforms series of `length` steps, forwards, and returns the handles that were made.
int transform(std::int64_t length) {
  const int before = fourier_library.made;
  CudaContext<Gpu::nvidia> cuda;
  fourier_on_fake(cuda, RealFourier<float>{fourier_series_at_once(length), length, nullptr, nullptr, false});
  return fourier_library.made - before;
}

}  // namespace

TEST_CASE("cufft: the plans used last are kept, with one working memory for all") {
  if (!has_gpu() || active_gpu() != Gpu::emulated) return;
  constexpr auto kCount = static_cast<std::int64_t>(kMostFourierPlans);
  CHECK(transform(500) == 1);
  fourier_library.areas.clear();
  for (std::int64_t length = 10; length < 10 + kCount; ++length) CHECK(transform(length) == 1);
  CHECK(fourier_library.alive.size() == kMostFourierPlans);
  CHECK(fourier_library.areas.size() == 1);
  CHECK(transform(10) == 0);
  CHECK(transform(500) == 1);  // gone
  CHECK(transform(11) == 1);   // gave way to it
  CHECK(fourier_library.areas.size() == 1);
  CHECK(transform(2000) == 1);
  CHECK(fourier_library.areas.size() == 2);  // it has grown
  CHECK(fourier_library.alive.size() == kMostFourierPlans);
}

TEST_CASE("cufft: a captured graph owns its plan") {
  if (!has_gpu() || active_gpu() != Gpu::emulated) return;
  transform(700);
  const cufftHandle handle = fourier_library.made;
  gpu_runtime().begin_capture();
  const std::string planned = error_of([] { transform(701); });
  transform(700);
  std::unique_ptr<GpuGraph> graph = gpu_runtime().end_capture();
  CHECK(planned == "[fourier] the first transform of series of 701 steps cannot be captured");
  for (std::int64_t length = 10; length < 10 + static_cast<std::int64_t>(kMostFourierPlans); ++length)
    transform(length);
  CHECK(fourier_library.alive.contains(handle));
  graph.reset();
  CHECK_FALSE(fourier_library.alive.contains(handle));
}

TEST_CASE("cufft: a plan that is refused leaves no handle") {
  if (!has_gpu() || active_gpu() != Gpu::emulated) return;
  const std::size_t before = fourier_library.alive.size();
  fourier_library.refuses_plans = true;
  CHECK(error_of([] { transform(901); }) == "[cufft] planning: error 2");
  fourier_library.refuses_plans = false;
  CHECK(fourier_library.alive.size() == before);
  CHECK(transform(901) == 1);
}

}  // namespace npzoo
