#include "npzoo/engine/cuda/rows.h"
#include "npzoo/ops/softmax/kernels.h"

namespace npzoo {

namespace {

template <class T>
struct ExpSum {
  T shift, sum;
};

/// Σ exp(x − shift) of a row, in double; `shift` is its largest element, or 0 where every one is −∞.
template <class T>
__device__ ExpSum<T> exp_sum(const RowThreads& threads, const T* x) {
  T largest = -infinity<T>();
  threads.for_own([&](std::int64_t i) { largest = x[i] > largest || x[i] != x[i] ? x[i] : largest; });
  const T shift = shift_for(threads.largest(largest));
  double sum = 0;
  threads.for_own([&](std::int64_t i) { sum += static_cast<double>(exponential(difference(x[i], shift))); });
  return {shift, static_cast<T>(threads.sum(sum))};
}

}  // namespace

template <class T>
void softmax_forward(Cuda& cuda, const SoftmaxForward<T>& p) {
  for_rows(cuda, "softmax", p.rows, p.width, [p] __device__(const RowThreads& threads) {
    const T* x = p.x + threads.row * p.width;
    T* y = p.y + threads.row * p.width;
    const ExpSum<T> row = exp_sum(threads, x);
    const T factor = row.sum == 0 ? T(0) : 1 / row.sum;
    threads.for_own([&](std::int64_t i) { y[i] = exponential(difference(x[i], row.shift)) * factor; });
  });
}

template <class T>
void softmax_backward(Cuda& cuda, const SoftmaxBackward<T>& p) {
  for_rows(cuda, "softmax_backward", p.rows, p.width, [p] __device__(const RowThreads& threads) {
    const std::int64_t at = threads.row * p.width;
    const T *y = p.y + at, *d_y = p.d_y + at;
    T* d_x = p.d_x + at;
    double sum = 0;
    threads.for_own([&](std::int64_t i) { sum += static_cast<double>(d_y[i] * y[i]); });
    const auto dot = static_cast<T>(threads.sum(sum));
    threads.for_own([&](std::int64_t i) { d_x[i] = y[i] * (d_y[i] - dot); });
  });
}

template <class T>
void log_softmax_forward(Cuda& cuda, const SoftmaxForward<T>& p) {
  for_rows(cuda, "log_softmax", p.rows, p.width, [p] __device__(const RowThreads& threads) {
    const T* x = p.x + threads.row * p.width;
    T* y = p.y + threads.row * p.width;
    const ExpSum<T> row = exp_sum(threads, x);
    const T log_sum = row.sum == 0 ? T(0) : logarithm(row.sum);
    threads.for_own([&](std::int64_t i) { y[i] = difference(x[i], row.shift) - log_sum; });
  });
}

template <class T>
void log_softmax_backward(Cuda& cuda, const SoftmaxBackward<T>& p) {
  for_rows(cuda, "log_softmax_backward", p.rows, p.width, [p] __device__(const RowThreads& threads) {
    const std::int64_t at = threads.row * p.width;
    const T *y = p.y + at, *d_y = p.d_y + at;
    T* d_x = p.d_x + at;
    double sum = 0;
    int visible = 0;  // elements that are not −∞
    threads.for_own([&](std::int64_t i) {
      sum += static_cast<double>(d_y[i]);
      visible |= y[i] != -infinity<T>();
    });
    const auto total = static_cast<T>(threads.sum(sum));
    const bool masked = threads.reduce(visible, [](int a, int b) { return a | b; }) == 0;
    threads.for_own([&](std::int64_t i) { d_x[i] = masked ? T(0) : d_y[i] - exponential(y[i]) * total; });
  });
}

NPZOO_INSTANTIATE(softmax_forward, SoftmaxForward);
NPZOO_INSTANTIATE(softmax_backward, SoftmaxBackward);
NPZOO_INSTANTIATE(log_softmax_forward, SoftmaxForward);
NPZOO_INSTANTIATE(log_softmax_backward, SoftmaxBackward);

}  // namespace npzoo
