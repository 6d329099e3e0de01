#include <cmath>
#include <limits>

#include "npzoo/engine/cpu/simd.h"
#include "npzoo/ops/incremental_cross_attention/kernels.h"

namespace npzoo {

namespace {

constexpr std::int64_t kChunkElements = 1 << 14;

/// One latent in one head.
template <class T>
struct Row {
  Row(const MergeForward<T>& p, std::int64_t index)
      : log_sum(index),
        mean((index / (p.heads * p.latents) * p.latents + index % p.latents) * p.heads * p.width +
             index / p.latents % p.heads * p.width) {}

  std::int64_t log_sum, mean;  // where its elements begin
};

/// Shares of both sides in the whole.
template <class T>
struct Weights {
  T a, b, log_sum;
};

template <class T>
Weights<T> weights(T a, T b) {
  constexpr T kNothing = -std::numeric_limits<T>::infinity();
  if (a == kNothing && b == kNothing) return {0, 0, kNothing};
  const T top = a > b ? a : b;
  const T ea = std::exp(a - top), eb = std::exp(b - top), sum = ea + eb;
  return {ea / sum, eb / sum, top + std::log(sum)};
}

template <class T>
void merge_row(const MergeForward<T>& p, const Row<T>& at) {
  const Weights<T> w = weights(p.a_log_sum[at.log_sum], p.b_log_sum[at.log_sum]);
  p.log_sum[at.log_sum] = w.log_sum;
  for (std::int64_t c = at.mean; c < at.mean + p.width; ++c) p.mean[c] = w.a * p.a_mean[c] + w.b * p.b_mean[c];
}

template <class T>
void merge_row_backward(const MergeBackward<T>& b, const Row<T>& at) {
  const MergeForward<T>& p = b.forward;
  const Weights<T> w = weights(p.a_log_sum[at.log_sum], p.b_log_sum[at.log_sum]);
  T towards_a = 0;  // Σ d_mean · (a − b)
  for (std::int64_t c = at.mean; c < at.mean + p.width; ++c) {
    const T d = b.d_mean ? b.d_mean[c] : T(0);
    b.d_a_mean[c] = w.a * d;
    b.d_b_mean[c] = w.b * d;
    towards_a += d * (p.a_mean[c] - p.b_mean[c]);
  }
  const T d = b.d_log_sum ? b.d_log_sum[at.log_sum] : T(0);
  b.d_a_log_sum[at.log_sum] = w.a > 0 ? w.a * (d + w.b * towards_a) : T(0);
  b.d_b_log_sum[at.log_sum] = w.b > 0 ? w.b * (d - w.a * towards_a) : T(0);
}

template <class T, class F>
void for_rows(Cpu& cpu, const MergeForward<T>& p, F f) {
  const std::int64_t rows = p.batch * p.heads * p.latents, grain = kChunkElements / (p.width + 16);
  cpu.parallel_for(rows, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) f(Row<T>(p, i));
  });
}

}  // namespace

template <class T>
void merge_forward(Cpu& cpu, const MergeForward<T>& p) {
  for_rows(cpu, p, [&p](const Row<T>& row) { merge_row(p, row); });
}

template <class T>
void merge_backward(Cpu& cpu, const MergeBackward<T>& p) {
  for_rows(cpu, p.forward, [&p](const Row<T>& row) { merge_row_backward(p, row); });
}

NPZOO_INSTANTIATE(merge_forward, MergeForward);
NPZOO_INSTANTIATE(merge_backward, MergeBackward);

}  // namespace npzoo
