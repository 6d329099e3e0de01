#include <cstring>

#include "npzoo/engine/cpu/lanes.h"
#include "npzoo/ops/softmax/kernels.h"
#include "npzoo/ops/softmax/rows.h"

namespace npzoo {

namespace {

constexpr std::int64_t kGrain = 1 << 12;  // elements that one thread takes at a time

template <class T>
void log_softmax_row(const T* x, T* y, std::int64_t width) {
  const auto [shift, sum] = simd::row_sum(x, width, [](auto...) {});
  const Vec<T> logarithm = simd::select(sum == Vec<T>{}, Vec<T>{}, simd::log(sum));
  simd::for_registers<T>(width, [&, shift = shift](std::int64_t i, std::int64_t rest) {
    simd::store_up_to(y + i, simd::difference(simd::load_padded(x + i, rest), shift) - logarithm, rest);
  });
}

template <class T>
void log_softmax_row_backward(const T* y, const T* d_y, T* d_x, std::int64_t width) {
  const Vec<T> lowest = simd::splat<T>(-std::numeric_limits<T>::infinity());
  simd::DoubleSum<T> sum;
  Vec<T> visible{};  // 1 where anything but −∞ was met
  simd::for_registers<T>(width, [&](std::int64_t i, std::int64_t rest) {
    sum.add(simd::load_up_to(d_y + i, rest));
    visible = simd::select(simd::load_padded(y + i, rest) == lowest, visible, simd::splat<T>(1));
  });
  if (simd::largest(visible) == 0) return void(std::memset(d_x, 0, sizeof(T) * width));
  const auto total = static_cast<T>(sum.total());
  simd::for_registers<T>(width, [&](std::int64_t i, std::int64_t rest) {
    const Vec<T> weight = simd::exp(simd::load_padded(y + i, rest));
    simd::store_up_to(d_x + i, simd::load_up_to(d_y + i, rest) - weight * total, rest);
  });
}

/// Calls body(start of the row) for every row.
template <class P, class F>
void for_rows(Cpu& cpu, const P& p, F body) {
  cpu.parallel_for(p.rows, 1 + kGrain / (1 + p.width), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) body(row * p.width);
  });
}

}  // namespace

template <class T>
void softmax_forward(Cpu& cpu, const SoftmaxForward<T>& p) {
  for_rows(cpu, p, [&p](std::int64_t at) { simd::softmax_row(p.x + at, p.y + at, p.width); });
}

template <class T>
void softmax_backward(Cpu& cpu, const SoftmaxBackward<T>& p) {
  for_rows(cpu, p, [&p](std::int64_t at) { simd::softmax_row_backward(p.y + at, p.d_y + at, p.d_x + at, p.width); });
}

template <class T>
void log_softmax_forward(Cpu& cpu, const SoftmaxForward<T>& p) {
  for_rows(cpu, p, [&p](std::int64_t at) { log_softmax_row(p.x + at, p.y + at, p.width); });
}

template <class T>
void log_softmax_backward(Cpu& cpu, const SoftmaxBackward<T>& p) {
  for_rows(cpu, p, [&p](std::int64_t at) { log_softmax_row_backward(p.y + at, p.d_y + at, p.d_x + at, p.width); });
}

NPZOO_INSTANTIATE(softmax_forward, SoftmaxForward);
NPZOO_INSTANTIATE(softmax_backward, SoftmaxBackward);
NPZOO_INSTANTIATE(log_softmax_forward, SoftmaxForward);
NPZOO_INSTANTIATE(log_softmax_backward, SoftmaxBackward);

}  // namespace npzoo
