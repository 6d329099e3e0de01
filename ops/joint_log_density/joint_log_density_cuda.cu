#include "engine/cuda/launch.h"
#include "ops/joint_log_density/algorithm.h"

namespace npzoo {

namespace {

constexpr int kWarps = 4, kThreads = kWarps * kWarp;

struct Block {
  template <class F>
  __device__ void each(std::int64_t n, const F& f) const {
    for (std::int64_t i = threadIdx.x; i < n; i += kThreads) f(i);
    __syncthreads();
  }
  template <class F>
  __device__ void each(std::int64_t n, std::int64_t m, const F& f) const {
    for (std::int64_t i = warp_id(); i < n; i += kWarps)
      for (std::int64_t j = lane_id(); j < m; j += kWarp) f(i, j);
    __syncthreads();
  }
  template <class F>
  __device__ double sum(std::int64_t n, const F& f) const {
    double part = 0;
    for (std::int64_t i = threadIdx.x; i < n; i += kThreads) part += f(i);
    part = warp_sum(part);
    auto* parts = shared_memory<double>();
    __syncthreads();
    if (lane_id() == 0) parts[warp_id()] = part;
    __syncthreads();
    double total = 0;
    for (int warp = 0; warp < kWarps; ++warp) total += parts[warp];
    return total;
  }
  __device__ double log(double x) const { return logarithm(x); }
};

template <class P>
__global__ void __launch_bounds__(kThreads) density_kernel(P p) {
  joint::density(Block(), p, blockIdx.x);
}

template <class P>
__global__ void __launch_bounds__(kThreads) gradients_kernel(P p) {
  joint::gradients(Block(), p, blockIdx.x);
}

template <class P>
void start(CudaContext<kGpu>& cuda, const char* name, void (*kernel)(P), const P& p) {
  launch(cuda, name, kernel, dim3(static_cast<unsigned>(p.of.batch)), kThreads, kWarps * sizeof(double), p);
}

}  // namespace

template <class T, Gpu gpu>
void cholesky_density_forward(CudaContext<gpu>& cuda, const CholeskyDensityForward<T>& p) {
  start(cuda, "cholesky_log_density", density_kernel<CholeskyDensityForward<T>>, p);
}

template <class T, Gpu gpu>
void cholesky_density_backward(CudaContext<gpu>& cuda, const CholeskyDensityBackward<T>& p) {
  start(cuda, "cholesky_log_density_backward", gradients_kernel<CholeskyDensityBackward<T>>, p);
}

template <class T, Gpu gpu>
void low_rank_density_forward(CudaContext<gpu>& cuda, const LowRankDensityForward<T>& p) {
  start(cuda, "low_rank_log_density", density_kernel<LowRankDensityForward<T>>, p);
}

template <class T, Gpu gpu>
void low_rank_density_backward(CudaContext<gpu>& cuda, const LowRankDensityBackward<T>& p) {
  start(cuda, "low_rank_log_density_backward", gradients_kernel<LowRankDensityBackward<T>>, p);
}

NPZOO_INSTANTIATE(cholesky_density_forward, CholeskyDensityForward);
NPZOO_INSTANTIATE(cholesky_density_backward, CholeskyDensityBackward);
NPZOO_INSTANTIATE(low_rank_density_forward, LowRankDensityForward);
NPZOO_INSTANTIATE(low_rank_density_backward, LowRankDensityBackward);

}  // namespace npzoo
