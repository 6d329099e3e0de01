#pragma once

#include "npzoo/ops/masked_attention/spread_cuda.h"

namespace npzoo {

/// Computes d_q and `means` (batch, heads, queries): Σ out · d_out minus the gradient of the log-sum-exp, which is
/// subtracted from the gradients of a row's weights.
template <class T>
void attention_query_gradients(Cuda& cuda, const AttentionBackward<T>& b, T* means);

/// Computes d_k and d_v.
template <class T>
void attention_key_gradients(Cuda& cuda, const AttentionBackward<T>& b, const T* means);

namespace {

/// A lane has fewer channels than in the forward pass, since there are more arrays.
template <class T, int width>
using GradientTiling = Tiling<T, width, 8, (sizeof(T) == 4 ? 4 : 2)>;

/// Calls f<tiling, laplace>(). Widths are at most 128.
template <class F>
void with_gradient_tiling(const AttentionForward<float>& p, const F& f) {
  const std::int64_t width = max(p.width, p.value_width);
  if (p.score == AttentionScore::laplace)
    return width <= 16 ? f.template operator()<GradientTiling<float, 16>, true>()
                       : f.template operator()<GradientTiling<float, 128>, true>();
  if (width <= 8) return f.template operator()<GradientTiling<float, 8>, false>();
  if (width <= 16) return f.template operator()<GradientTiling<float, 16>, false>();
  if (width <= 32) return f.template operator()<GradientTiling<float, 32>, false>();
  if (width <= 64) return f.template operator()<GradientTiling<float, 64>, false>();
  f.template operator()<GradientTiling<float, 128>, false>();
}

template <class F>
void with_gradient_tiling(const AttentionForward<double>& p, const F& f) {
  const bool narrow = max(p.width, p.value_width) <= 16;
  if (p.score == AttentionScore::laplace)
    return narrow ? f.template operator()<GradientTiling<double, 16>, true>()
                  : f.template operator()<GradientTiling<double, 128>, true>();
  narrow ? f.template operator()<GradientTiling<double, 16>, false>()
         : f.template operator()<GradientTiling<double, 128>, false>();
}

/// Adds up the segments, in their order.
template <class T>
void sum_segments(Cuda& cuda, std::int64_t segments, std::int64_t n, const T* parts, T* out) {
  for_each(cuda, "sum_attention_segments", n, [segments, n, parts, out] __device__(std::int64_t i) {
    double sum = 0;
    for (std::int64_t s = 0; s < segments; ++s) sum += static_cast<double>(parts[s * n + i]);
    out[i] = static_cast<T>(sum);
  });
}

}  // namespace

}  // namespace npzoo
