#include "npzoo/engine/cpu/simd.h"
#include "npzoo/ops/mean_nll/kernels.h"

namespace npzoo {

namespace {

using namespace simd;

constexpr std::int64_t kGrain = 1 << 13;  // elements that are worth handing to another thread

/// Sums of weighted log-likelihoods and of weights.
template <class T>
void sum_row(const MeanNllForward<T>& p, std::int64_t row) {
  constexpr int kLanes = Simd<double>::kLanes;
  const T *x = p.log_likelihood + row * p.width, *weights = p.weights ? p.weights + row * p.width : nullptr;
  Vec<double> sums{}, totals{};
  std::int64_t i = 0;
  for (; i + kLanes <= p.width; i += kLanes) {
    const Vec<double> weight = weights ? load_as_double(weights + i) : splat<double>(1);
    sums += load_as_double(x + i) * weight;
    totals += weight;
  }
  double sum = simd::sum(sums), total = simd::sum(totals);
  for (; i < p.width; ++i) {
    const double weight = weights ? static_cast<double>(weights[i]) : 1;
    sum += static_cast<double>(x[i]) * weight;
    total += weight;
  }
  if (p.totals) total = static_cast<double>(p.totals[row]);
  p.row_totals[row] = total;
  p.row_means[row] = sum / total;
}

}  // namespace

template <class T>
void mean_nll_forward(Cpu& cpu, const MeanNllForward<T>& p) {
  cpu.parallel_for(p.rows, 1 + kGrain / (1 + p.width), [&p](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) sum_row(p, row);
  });
  double sum = 0;
  for (std::int64_t row = 0; row < p.rows; ++row) sum += p.row_means[row];
  *p.out = static_cast<T>(-sum / static_cast<double>(p.rows));
}

template <class T>
void mean_nll_backward(Cpu& cpu, const MeanNllBackward<T>& p) {
  const double d_mean = -static_cast<double>(*p.d_out) / static_cast<double>(p.rows);
  cpu.parallel_for(p.rows, 1 + kGrain / (1 + p.width), [&p, d_mean](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      const double d = d_mean / p.row_totals[row];
      T* to = p.d_log_likelihood + row * p.width;
      for (std::int64_t i = 0; i < p.width; ++i)
        to[i] = static_cast<T>(p.weights ? d * static_cast<double>(p.weights[row * p.width + i]) : d);
    }
  });
}

NPZOO_INSTANTIATE(mean_nll_forward, MeanNllForward);
NPZOO_INSTANTIATE(mean_nll_backward, MeanNllBackward);

}  // namespace npzoo
