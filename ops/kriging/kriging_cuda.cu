#include "npzoo/engine/cuda/block_team.h"
#include "npzoo/engine/memory.h"
#include "npzoo/ops/kriging/context.h"
#include "npzoo/ops/kriging/moments.h"
#include "npzoo/ops/kriging/search.h"

namespace npzoo {

namespace {

constexpr std::int64_t kBlocksPerProcessor = 2;

struct Block : BlockTeam<8> {
  __device__ void count(unsigned long long* counter) const { atomicAdd(counter, 1ull); }

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

  __device__ void slopes(const KrigingKernel& kernel, const kriging::Points& rows, const kriging::Points& columns,
                         std::int64_t input, double* out, std::int64_t stride) const {
    const Block team = *this;
    each(rows.count * columns.count, [=](std::int64_t at) {
      const std::int64_t i = at / columns.count, j = at % columns.count;
      double squared = 0;
      for (std::int64_t d = 0; d < rows.dims; ++d) {
        const double along = columns.inputs[d * columns.count + j] - rows.inputs[d * rows.count + i];
        squared += along * along * kernel.inverse_length[d] * kernel.inverse_length[d];
      }
      const double here = rows.inputs[input * rows.count + i], inverse = kernel.inverse_length[input];
      const double along = columns.inputs[input * columns.count + j] - here;
      const double cosine = columns.cosine[j] * rows.cosine[i] + columns.sine[j] * rows.sine[i];
      const double sine = columns.sine[j] * rows.cosine[i] - columns.cosine[j] * rows.sine[i];
      out[i * stride + j] =
          kriging::covariance_slope(kernel, team.sqrt(squared), cosine, sine, along, here, inverse * inverse, team);
    });
  }

  __device__ void copy(std::int64_t n, const double* from, double* to) const {
    each(n * n, [=](std::int64_t i) { to[i] = from[i]; });
  }

  __device__ void explained(std::int64_t rows, std::int64_t columns, const double* v, const double* other,
                            const double* white, double* mean, double* product) const {
    each(columns, [=](std::int64_t c) {
      double of_mean = 0, of_product = 0;
      for (std::int64_t i = 0; i < rows; ++i) {
        const double at = v[i * columns + c];
        of_mean += at * white[i];
        of_product += at * other[i * columns + c];
      }
      mean[c] = of_mean;
      product[c] = of_product;
    });
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

  __device__ void evidences(const KrigingKernel* kernels, std::int64_t count, const kriging::Points& points,
                            const double* y, double* work, double* squares, double* log_of_l) const {
    kriging::evidence_of_each(*this, kernels, count, points, y, work, squares, log_of_l);
  }

  __device__ void solve_vector(std::int64_t n, const double* a, std::int64_t stride, double* v) const {
    solve(n, a, stride, nullptr, 1, v);
  }
};

template <class T>
__global__ void __launch_bounds__(Block::kThreads) order_kernel(KrigingContexts<T> p) {
  kriging::order_context(Block(), p, blockIdx.x);
}

/// Blocks take one task and group of kernels after the other, each with working memory of its own.
template <class T>
__global__ void __launch_bounds__(Block::kThreads) weigh_kernel(KrigingWeigh<T> p, double* work, std::int64_t each) {
  const std::int64_t groups = kriging::groups(p.count);
  for (std::int64_t i = blockIdx.x; i < p.batch * groups; i += gridDim.x)
    kriging::weigh(Block(), p, i / groups, i % groups, work + blockIdx.x * each);
}

template <class T>
__global__ void __launch_bounds__(Block::kThreads)
    predict_kernel(KrigingPredict<T> p, double* work, std::int64_t each) {
  for (std::int64_t i = blockIdx.x; i < p.batch * p.keep; i += gridDim.x)
    kriging::predict(Block(), p, i / p.keep, i % p.keep, work + blockIdx.x * each);
}

template <class T>
__global__ void __launch_bounds__(Block::kThreads) average_kernel(KrigingPredict<T> p) {
  kriging::average(Block(), p, blockIdx.x);
}

template <class T>
__global__ void __launch_bounds__(Block::kThreads) backward_kernel(KrigingBackward<T> p) {
  kriging::backward(Block(), p, blockIdx.x);
}

std::int64_t blocks_for(const Cuda& cuda, std::int64_t pairs) {
  const std::int64_t most = cuda.multiprocessors * kBlocksPerProcessor;
  return pairs < most ? pairs : most;
}

Buffer working(std::int64_t blocks, std::int64_t each) {
  return Buffer(static_cast<std::size_t>(blocks * each) * sizeof(double), Device::cuda);
}

}  // namespace

template <class T>
void kriging_contexts(Cuda& cuda, const KrigingContexts<T>& p) {
  launch(cuda, "kriging_contexts", order_kernel<T>, p.batch, Block::kThreads, Block::kBytes, p);
}

template <class T>
void kriging_weigh(Cuda& cuda, const KrigingWeigh<T>& p) {
  const std::int64_t each = kriging::weigh_work(p.points < p.block ? p.points : p.block);
  const std::int64_t blocks = blocks_for(cuda, p.batch * kriging::groups(p.count));
  const Buffer work = working(blocks, each);
  launch(cuda, "kriging_weigh", weigh_kernel<T>, blocks, Block::kThreads, Block::kBytes, p,
         reinterpret_cast<double*>(work.data()), each);
}

template <class T>
void kriging_keep(Cuda& cuda, const KrigingKeep<T>& p) {
  for_each(cuda, "kriging_keep", p.batch, [p] __device__(std::int64_t b) { kriging::keep_best(p, b); });
}

template <class T>
void kriging_moments(Cuda& cuda, const KrigingPredict<T>& p) {
  const std::int64_t each = kriging::predict_work(p.points, p.slopes != nullptr);
  const std::int64_t blocks = blocks_for(cuda, p.batch * p.keep);
  const Buffer work = working(blocks, each);
  launch(cuda, "kriging_moments", predict_kernel<T>, blocks, Block::kThreads, Block::kBytes, p,
         reinterpret_cast<double*>(work.data()), each);
  launch(cuda, "kriging_average", average_kernel<T>, p.batch, Block::kThreads, 0, p);
}

template <class T>
void kriging_backward(Cuda& cuda, const KrigingBackward<T>& p) {
  launch(cuda, "kriging_backward", backward_kernel<T>, p.batch, Block::kThreads, 0, p);
}

NPZOO_INSTANTIATE(kriging_contexts, KrigingContexts);
NPZOO_INSTANTIATE(kriging_weigh, KrigingWeigh);
NPZOO_INSTANTIATE(kriging_keep, KrigingKeep);
NPZOO_INSTANTIATE(kriging_moments, KrigingPredict);
NPZOO_INSTANTIATE(kriging_backward, KrigingBackward);

}  // namespace npzoo
