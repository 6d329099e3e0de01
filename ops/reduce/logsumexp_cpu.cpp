#include "npzoo/engine/cpu/lanes.h"
#include "npzoo/ops/reduce/kernels.h"

namespace npzoo {

namespace {

constexpr std::int64_t kGrain = 1 << 12;  // elements that one thread takes at a time

template <class T>
Vec<T> log_sum(const simd::ExpSum<T>& s) {
  return s.shift + simd::log(s.sum);
}

template <class T>
void forward_row(const T* x, std::int64_t n, T* out) {
  constexpr int kLanes = Simd<T>::kLanes;
  const auto at = [&](std::int64_t i) { return simd::load_padded(x + i * kLanes, n - i * kLanes); };
  *out = log_sum<T>(simd::exp_sum<T>((n + kLanes - 1) / kLanes, true, at, [](auto...) {}))[0];
}

template <class T>
void forward_columns(const T* x, std::int64_t n, std::int64_t step, std::int64_t columns, T* out) {
  const auto at = [&](std::int64_t i) { return simd::load_padded(x + i * step, columns); };
  simd::store_up_to(out, log_sum<T>(simd::exp_sum<T>(n, false, at, [](auto...) {})), columns);
}

/// `one` result for the whole run, or one for each element.
template <class T>
void backward_run(const T* x, const T* out, const T* d_out, T* d_x, std::int64_t n, bool one) {
  const Vec<T> lowest = simd::splat<T>(-std::numeric_limits<T>::infinity());
  for (std::int64_t i = 0; i < n; i += Simd<T>::kLanes) {
    const auto load = [&](const T* p) { return one ? simd::splat<T>(*p) : simd::load_up_to(p + i, n - i); };
    const Vec<T> sum = load(out), shift = simd::select(sum == lowest, Vec<T>{}, sum);
    const Vec<T> weight = simd::exp(simd::difference(simd::load_up_to(x + i, n - i), shift));
    simd::store_up_to(d_x + i, load(d_out) * weight, n - i);
  }
}

}  // namespace

template <class T>
void logsumexp_forward(Cpu& cpu, const LogSumExpForward<T>& p) {
  constexpr int kLanes = Simd<T>::kLanes;
  const std::int64_t tiles = (p.inner + kLanes - 1) / kLanes;
  cpu.parallel_for(p.outer * tiles, 1 + kGrain / (1 + p.n * kLanes), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t item = begin; item < end; ++item) {
      const std::int64_t outer = item / tiles, column = item % tiles * kLanes;
      const T* x = p.x + outer * p.n * p.inner + column;
      T* out = p.out + outer * p.inner + column;
      if (p.inner == 1)
        forward_row(x, p.n, out);
      else
        forward_columns(x, p.n, p.inner, p.inner - column, out);
    }
  });
}

template <class T>
void logsumexp_backward(Cpu& cpu, const LogSumExpBackward<T>& p) {
  // Runs along the last axis: the summed one, or the one behind it.
  const bool one = p.inner == 1;
  const std::int64_t runs = one ? p.outer : p.outer * p.n, width = one ? p.n : p.inner;
  cpu.parallel_for(runs, 1 + kGrain / (1 + width), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t run = begin; run < end; ++run) {
      const std::int64_t result = one ? run : run / p.n * p.inner;
      backward_run(p.x + run * width, p.out + result, p.d_out + result, p.d_x + run * width, width, one);
    }
  });
}

NPZOO_INSTANTIATE(logsumexp_forward, LogSumExpForward);
NPZOO_INSTANTIATE(logsumexp_backward, LogSumExpBackward);

}  // namespace npzoo
