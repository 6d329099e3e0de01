#include "engine/cuda/launch.h"
#include "engine/memory.h"
#include "ops/kriging/algorithm.h"

namespace npzoo {

namespace {

constexpr int kWarps = 8, kThreads = kWarps * kWarp;
constexpr std::int64_t kBlocksPerProcessor = 2;

struct Block {
  template <class F>
  __device__ void each(std::int64_t n, const F& f) const {
    for (std::int64_t i = threadIdx.x; i < n; i += kThreads) f(i);
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
  __device__ double exp(double x) const { return exponential(x); }
  __device__ double sqrt(double x) const { return square_root(x); }
  __device__ double cos(double x) const { return cosine(x); }
  __device__ double sin(double x) const { return sine(x); }

  __device__ void periodogram(std::int64_t n, const double* x, const double* y, std::int64_t count, double first,
                              double step, double* power, double*) const {
    const Block team = *this;
    each(count, [=](std::int64_t f) {
      const double frequency = kriging::kTwoPi * (first + static_cast<double>(f) * step);
      double cc = 0, ss = 0, cs = 0, cy = 0, sy = 0;
      for (std::int64_t i = 0; i < n; ++i) {
        const double c = team.cos(frequency * x[i]), s = team.sin(frequency * x[i]);
        cc += c * c;
        ss += s * s;
        cs += c * s;
        cy += c * y[i];
        sy += s * y[i];
      }
      power[f] = kriging::power(cc, ss, cs, cy, sy);
    });
  }

  __device__ void covariances(const KrigingKernel& kernel, const kriging::Points& rows, const kriging::Points& columns,
                              bool lower, double* out, std::int64_t stride) const {
    const Block team = *this;
    each(rows.count * columns.count, [=](std::int64_t at) {
      const std::int64_t i = at / columns.count, j = at % columns.count;
      if (lower && j > i) return;
      double squared = 0, dot = 0;
      for (std::int64_t d = 0; d < rows.dims; ++d) {
        const double here = rows.inputs[d * rows.count + i], there = columns.inputs[d * columns.count + j];
        const double along = (there - here) * kernel.inverse_length[d];
        squared += along * along;
        dot += there * here;
      }
      const double angle = columns.cosine[j] * rows.cosine[i] + columns.sine[j] * rows.sine[i];
      out[i * stride + j] = kriging::covariance(kernel, team.sqrt(squared), angle, dot, team);
    });
  }

  __device__ void copy(std::int64_t n, const double* from, double* to) const {
    each(n * n, [=](std::int64_t i) { to[i] = from[i]; });
  }

  __device__ void factorise(std::int64_t n, double* a, std::int64_t stride, double*) const {
    const Block team = *this;
    for (std::int64_t j = 0; j < n; ++j) {
      each(1, [=](std::int64_t) { a[j * stride + j] = team.sqrt(a[j * stride + j]); });
      each(n - j - 1, [=](std::int64_t k) { a[(j + 1 + k) * stride + j] /= a[j * stride + j]; });
      const std::int64_t rest = n - j - 1;
      each(rest * rest, [=](std::int64_t at) {
        const std::int64_t i = j + 1 + at / rest, k = j + 1 + at % rest;
        if (k <= i) a[i * stride + k] -= a[i * stride + j] * a[k * stride + j];
      });
    }
  }

  __device__ void solve(std::int64_t n, const double* a, std::int64_t stride, const double*, std::int64_t columns,
                        double* v) const {
    for (std::int64_t j = 0; j < n; ++j) {
      each(columns, [=](std::int64_t c) { v[j * columns + c] /= a[j * stride + j]; });
      each((n - j - 1) * columns, [=](std::int64_t at) {
        const std::int64_t i = j + 1 + at / columns, c = at % columns;
        v[i * columns + c] -= a[i * stride + j] * v[j * columns + c];
      });
    }
  }
};

template <class T>
__global__ void __launch_bounds__(kThreads) order_kernel(KrigingContexts<T> p) {
  kriging::order_context(Block(), p, blockIdx.x);
}

/// Blocks take one pair of task and kernel after the other, each with working memory of its own.
template <class T>
__global__ void __launch_bounds__(kThreads) weigh_kernel(KrigingEvidence<T> p, double* work, std::int64_t each) {
  for (std::int64_t i = blockIdx.x; i < p.batch * p.members; i += gridDim.x)
    kriging::weigh(Block(), p, i / p.members, i % p.members, work + blockIdx.x * each, false);
}

template <class T>
__global__ void __launch_bounds__(kThreads) predict_kernel(KrigingPredict<T> p, double* work, std::int64_t each) {
  for (std::int64_t i = blockIdx.x; i < p.batch * p.keep; i += gridDim.x)
    kriging::predict(Block(), p, i / p.keep, i % p.keep, work + blockIdx.x * each);
}

template <class T>
__global__ void __launch_bounds__(kThreads) average_kernel(KrigingPredict<T> p) {
  kriging::average(Block(), p, blockIdx.x);
}

unsigned blocks_for(const CudaContext<kGpu>& cuda, std::int64_t pairs) {
  const std::int64_t most = cuda.multiprocessors * kBlocksPerProcessor;
  return static_cast<unsigned>(pairs < most ? pairs : most);
}

Buffer working(std::int64_t blocks, std::int64_t each) {
  return Buffer(static_cast<std::size_t>(blocks * each) * sizeof(double), Device::cuda);
}

}  // namespace

template <class T, Gpu gpu>
void kriging_contexts(CudaContext<gpu>& cuda, const KrigingContexts<T>& p) {
  launch(cuda, "kriging_contexts", order_kernel<T>, dim3(static_cast<unsigned>(p.batch)), kThreads,
         kWarps * sizeof(double), p);
}

template <class T, Gpu gpu>
void kriging_evidence(CudaContext<gpu>& cuda, const KrigingEvidence<T>& p) {
  const std::int64_t each = kriging::weigh_work(p.points < kKrigingBlock ? p.points : kKrigingBlock);
  const unsigned blocks = blocks_for(cuda, p.batch * p.members);
  const Buffer work = working(blocks, each);
  launch(cuda, "kriging_evidence", weigh_kernel<T>, dim3(blocks), kThreads, kWarps * sizeof(double), p,
         reinterpret_cast<double*>(work.data()), each);
  for_each(cuda, "kriging_keep", p.batch, [p] __device__(std::int64_t b) { kriging::keep_best(p, b); });
}

template <class T, Gpu gpu>
void kriging_moments(CudaContext<gpu>& cuda, const KrigingPredict<T>& p) {
  const std::int64_t each = kriging::predict_work(p.points);
  const unsigned blocks = blocks_for(cuda, p.batch * p.keep);
  const Buffer work = working(blocks, each);
  launch(cuda, "kriging_moments", predict_kernel<T>, dim3(blocks), kThreads, kWarps * sizeof(double), p,
         reinterpret_cast<double*>(work.data()), each);
  launch(cuda, "kriging_average", average_kernel<T>, dim3(static_cast<unsigned>(p.batch)), kThreads, 0, p);
}

NPZOO_INSTANTIATE(kriging_contexts, KrigingContexts);
NPZOO_INSTANTIATE(kriging_evidence, KrigingEvidence);
NPZOO_INSTANTIATE(kriging_moments, KrigingPredict);

}  // namespace npzoo
