#include "npzoo/engine/cuda/rows.h"
#include "npzoo/ops/gaussian_log_density/kernels.h"

namespace npzoo {

namespace {

constexpr double kHalfLogTwoPi = 0.91893853320467274178;

/// The standardised residual of an element and its scale; NaN where that is not positive.
struct Residual {
  double z, std;
};

template <class P>
__device__ Residual residual(const P& p, std::int64_t i) {
  const auto loaded = static_cast<double>(p.std[i]);
  const double std = loaded > 0 ? loaded : static_cast<double>(__builtin_nan(""));
  return {(static_cast<double>(p.y[i]) - static_cast<double>(p.mean[i])) / std, std};
}

}  // namespace

template <class T>
void gaussian_log_density_forward(Cuda& cuda, const GaussianLogDensityForward<T>& p) {
  for_rows(cuda, "gaussian_log_density", p.rows, p.width, [p] __device__(const RowThreads& threads) {
    double sum = 0;
    threads.for_own([&](std::int64_t i) {
      const Residual r = residual(p, threads.row * p.width + i);
      sum += -0.5 * r.z * r.z - logarithm(r.std) - kHalfLogTwoPi;
    });
    sum = threads.sum(sum);
    if (threads.first(p.rows)) p.out[threads.row] = static_cast<T>(sum);
  });
}

template <class T>
void gaussian_log_density_backward(Cuda& cuda, const GaussianLogDensityBackward<T>& p) {
  for_each(cuda, "gaussian_log_density_backward", p.rows * p.width, [p] __device__(std::int64_t i) {
    const Residual r = residual(p, i);
    const double scaled = static_cast<double>(p.d_out[i / p.width]) / r.std, d_mean = scaled * r.z;
    if (p.d_y) p.d_y[i] = static_cast<T>(-d_mean);
    if (p.d_mean) p.d_mean[i] = static_cast<T>(d_mean);
    if (p.d_std) p.d_std[i] = static_cast<T>(scaled * (r.z * r.z - 1));
  });
}

NPZOO_INSTANTIATE(gaussian_log_density_forward, GaussianLogDensityForward);
NPZOO_INSTANTIATE(gaussian_log_density_backward, GaussianLogDensityBackward);

}  // namespace npzoo
