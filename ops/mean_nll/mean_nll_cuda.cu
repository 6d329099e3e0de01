#include "npzoo/engine/cuda/last_block.h"
#include "npzoo/engine/cuda/launch.h"
#include "npzoo/ops/mean_nll/kernels.h"

namespace npzoo {

namespace {

constexpr int kWarps = 8, kThreads = kWarps * kWarp;

/// A warp for each row. The last block takes the mean over the rows.
template <class T>
__global__ void __launch_bounds__(kThreads) mean_nll_kernel(MeanNllForward<T> p) {
  const std::int64_t row = std::int64_t{blockIdx.x} * kWarps + warp_id();
  if (row < p.rows) {
    double sum = 0, total = 0;
    for (std::int64_t i = lane_id(); i < p.width; i += kWarp) {
      const double weight = p.weights ? static_cast<double>(p.weights[row * p.width + i]) : 1;
      sum += static_cast<double>(p.log_likelihood[row * p.width + i]) * weight;
      total += weight;
    }
    sum = warp_sum(sum);
    total = p.totals ? static_cast<double>(p.totals[row]) : warp_sum(total);
    if (lane_id() == 0) {
      p.row_totals[row] = total;
      p.row_means[row] = sum / total;
    }
  }
  if (!is_last_block(0, gridDim.x, shared_memory<int>())) return;
  const volatile double* const means = p.row_means;
  double sum = 0;
  for (std::int64_t i = threadIdx.x; i < p.rows; i += kThreads) sum += means[i];
  sum = block_sum(sum);
  if (threadIdx.x == 0) *p.out = static_cast<T>(-sum / static_cast<double>(p.rows));
}

}  // namespace

template <class T>
void mean_nll_forward(Cuda& cuda, const MeanNllForward<T>& p) {
  launch(cuda, "mean_nll", mean_nll_kernel<T>, max(std::int64_t{1}, divide_up(p.rows, kWarps)), kThreads,
         kWarps * sizeof(double), p);
}

template <class T>
void mean_nll_backward(Cuda& cuda, const MeanNllBackward<T>& p) {
  for_each(cuda, "mean_nll_backward", p.rows * p.width, [p] __device__(std::int64_t i) {
    const double weight = p.weights ? static_cast<double>(p.weights[i]) : 1;
    p.d_log_likelihood[i] = static_cast<T>(-static_cast<double>(*p.d_out) / static_cast<double>(p.rows) /
                                           p.row_totals[i / p.width] * weight);
  });
}

NPZOO_INSTANTIATE(mean_nll_forward, MeanNllForward);
NPZOO_INSTANTIATE(mean_nll_backward, MeanNllBackward);

}  // namespace npzoo
