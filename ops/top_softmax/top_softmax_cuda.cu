#include "npzoo/engine/cuda/rows.h"
#include "npzoo/ops/top_softmax/kernels.h"

namespace npzoo {

namespace {

/// Whether fewer than k elements come before element i in the order of size and then of place.
template <class T>
__device__ bool among_greatest(const T* by, std::int64_t width, std::int64_t k, std::int64_t i) {
  std::int64_t before = 0;
  for (std::int64_t j = 0; j < width; ++j) before += by[j] > by[i] || (by[j] == by[i] && j < i);
  return before < k || by[i] != by[i];
}

}  // namespace

template <class T>
void top_softmax_forward(Cuda& cuda, const TopSoftmaxForward<T>& p) {
  for_rows(cuda, "top_softmax", p.rows, p.width, [p] __device__(const RowThreads& threads) {
    const T *x = p.x + threads.row * p.width, *by = p.by + threads.row * p.width;
    T* y = p.y + threads.row * p.width;
    T largest = -infinity<T>();
    threads.for_own([&](std::int64_t i) {
      y[i] = among_greatest(by, p.width, p.k, i) ? x[i] : -infinity<T>();
      largest = y[i] > largest || y[i] != y[i] ? y[i] : largest;
    });
    const T shift = shift_for(threads.largest(largest));
    double sum = 0;
    threads.for_own([&](std::int64_t i) { sum += static_cast<double>(exponential(difference(y[i], shift))); });
    const auto total = static_cast<T>(threads.sum(sum));
    const T factor = total == 0 ? T(0) : 1 / total;
    threads.for_own([&](std::int64_t i) { y[i] = exponential(difference(y[i], shift)) * factor; });
  });
}

NPZOO_INSTANTIATE(top_softmax_forward, TopSoftmaxForward);

}  // namespace npzoo
