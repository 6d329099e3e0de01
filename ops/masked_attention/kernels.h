#pragma once

#include "npzoo/engine/kernel.h"
#include "npzoo/ops/masked_attention/attention_score.h"
#include "npzoo/ops/masked_attention/distance_rule.h"
#include "npzoo/ops/masked_attention/prefix_rule.h"

namespace npzoo {

template <class T>
struct AttentionForward {
  std::int64_t batch, queries, keys, heads, width, value_width;  // widths of one head
  double scale;
  AttentionScore score;
  PrefixRule mask;
  const T* q;
  const T* k;
  const T* v;
  T* out;
  /// (batch, heads, queries): log₂ Σ 2^(log₂e · score), in base 2, which the kernels compute with. −∞ for rows that see
  /// no key.
  T* log2_sum;
  std::int64_t scan_chunk = 0;  // see AttentionOptions
  DistanceRules<T> biases{};
};

/// Chunks of a scan that a row ends after it has seen `visible` keys. Their epsilons are still to be added.
template <class T>
NPZOO_DEVICE std::int64_t chunks_behind(const AttentionForward<T>& p, std::int64_t visible) {
  return p.scan_chunk > 0 ? (p.keys + p.scan_chunk - 1) / p.scan_chunk - visible / p.scan_chunk : 0;
}

template <class T>
struct AttentionBackward {
  AttentionForward<T> forward;
  const T* d_out;
  const T* d_log_sum;  // gradient of the natural log-sum-exp, (batch, heads, queries), or null
  T* d_q;
  T* d_k;
  T* d_v;
  T* d_biases = nullptr;  // (heads, columns of the biases), or null
};

/// The points of the unit sphere at `n` places (longitude, latitude) in degrees.
template <class T>
struct SpherePoints {
  std::int64_t n;
  const T* degrees;  // (n, 2)
  T* points;         // (n, 3)
};

NPZOO_KERNEL(attention_forward, AttentionForward);
NPZOO_KERNEL(attention_backward, AttentionBackward);
NPZOO_KERNEL(sphere_points, SpherePoints);

}  // namespace npzoo
