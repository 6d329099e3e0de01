#include "npzoo/engine/cpu/lanes.h"
#include "npzoo/engine/memory.h"
#include "npzoo/ops/layer_norm/kernels.h"

namespace npzoo {

namespace {

using namespace simd;

constexpr std::int64_t kGrain = 1 << 13;  // elements that are worth handing to another thread
constexpr std::int64_t kMostRows = 64;    // that are summed in T

/// Returns 1 in the lanes that belong to a row at position `i`, and 0 behind its end.
template <class T>
[[gnu::always_inline]] inline Vec<T> inside(std::int64_t i, std::int64_t width) {
  const auto lanes = lane_index<T>() < static_cast<typename Simd<T>::Integer>(width - i < 64 ? width - i : 64);
  return select(lanes, splat<T>(1), Vec<T>{});
}

template <class T>
void normalise_row(const LayerNormForward<T>& p, std::int64_t row) {
  constexpr int kLanes = Simd<T>::kLanes;
  const std::int64_t width = p.width, start = row * width;
  const T* x = p.x + start;
  Vec<T> total{};
  if (p.residual) {
    for_row<T>(width, [&](auto get, auto put) {
      const Vec<T> s = get(x) + get(p.residual + start);
      put(p.sum + start, s);
      total += s;
    });
    x = p.sum + start;
  } else {
    for_row<T>(width, [&](auto get, auto) { total += get(x); });
  }
  const T mean = sum(total) / static_cast<T>(width);
  Vec<T> squares{};
  std::int64_t i = 0;
  for_row<T>(width, [&](auto get, auto) {
    const Vec<T> centred = (get(x) - splat<T>(mean)) * inside<T>(i, width);
    squares += centred * centred;
    i += kLanes;
  });
  const T inverse = 1 / __builtin_sqrt(sum(squares) / static_cast<T>(width) + p.eps);
  for_row<T>(width, [&](auto get, auto put) {
    put(p.out + start, (get(x) - splat<T>(mean)) * splat<T>(inverse) * get(p.gain) + get(p.bias));
  });
  p.mean[row] = mean;
  p.inverse_deviation[row] = inverse;
}

template <class T>
void row_backward(const LayerNormBackward<T>& p, std::int64_t row, T* d_gain, T* d_bias) {
  const std::int64_t width = p.width, start = row * width;
  const Vec<T> mean = splat<T>(p.mean[row]), inverse = splat<T>(p.inverse_deviation[row]);
  const T *x = p.x + start, *d_out = p.d_out + start;
  Vec<T> d_sum{}, d_dot{};
  for_row<T>(width, [&](auto get, auto put) {
    const Vec<T> normal = (get(x) - mean) * inverse, d = get(d_out), d_normal = d * get(p.gain);
    d_sum += d_normal;
    d_dot += d_normal * normal;
    if (!d_gain) return;
    put(d_gain, get(d_gain) + d * normal);
    put(d_bias, get(d_bias) + d);
  });
  const Vec<T> mean_d = splat<T>(sum(d_sum) / static_cast<T>(width));
  const Vec<T> mean_dot = splat<T>(sum(d_dot) / static_cast<T>(width));
  for_row<T>(width, [&](auto get, auto put) {
    const Vec<T> normal = (get(x) - mean) * inverse;
    Vec<T> d_x = inverse * (get(d_out) * get(p.gain) - mean_d - normal * mean_dot);
    if (p.d_sum) d_x += get(p.d_sum + start);
    put(p.d_x + start, d_x);
  });
}

}  // namespace

template <class T>
void layer_norm_forward(Cpu& cpu, const LayerNormForward<T>& p) {
  if (p.width == 0) return;
  cpu.parallel_for(p.rows, kGrain / p.width + 1, [&p](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) normalise_row(p, row);
  });
}

template <class T>
void layer_norm_backward(Cpu& cpu, const LayerNormBackward<T>& p) {
  if (p.width == 0) return;
  // Each chunk of rows sums the gradients of gain and bias by itself. The parts are added in double.
  const std::int64_t rows_at_once = kGrain / p.width + 1, rows_per_chunk = min(rows_at_once, kMostRows),
                     chunks = divide_up(p.rows, rows_per_chunk), sums = p.d_gain ? 2 * p.width : 0;
  const Buffer scratch(static_cast<std::size_t>(chunks * sums) * sizeof(T));
  T* partial = reinterpret_cast<T*>(scratch.data());
  cpu.parallel_for(chunks, rows_at_once / rows_per_chunk, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t chunk = begin; chunk < end; ++chunk) {
      T *d_gain = p.d_gain ? partial + chunk * sums : nullptr, *d_bias = d_gain ? d_gain + p.width : nullptr;
      for (std::int64_t i = 0; i < sums; ++i) d_gain[i] = 0;
      const std::int64_t first = chunk * rows_per_chunk, last = min(first + rows_per_chunk, p.rows);
      for (std::int64_t row = first; row < last; ++row) row_backward(p, row, d_gain, d_bias);
    }
  });
  if (!p.d_gain) return;
  sum_rows(partial, chunks, sums, p.width, p.d_gain);
  sum_rows(partial + p.width, chunks, sums, p.width, p.d_bias);
}

NPZOO_INSTANTIATE(layer_norm_forward, LayerNormForward);
NPZOO_INSTANTIATE(layer_norm_backward, LayerNormBackward);

}  // namespace npzoo
