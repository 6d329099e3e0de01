#pragma once

// Distance biases of single pairs. Included by kernel sources only.

#include "npzoo/engine/cuda/launch.h"
#include "npzoo/ops/masked_attention/kernels.h"

namespace npzoo {

namespace {

__device__ inline float arc_tangent(float y, float x) { return atan2f(y, x); }
__device__ inline double arc_tangent(double y, double x) { return atan2(y, x); }

/// Returns what the exponents of a bias depend on: the square of the distance for rbf, else the distance. The angle
/// between points of the unit sphere comes from their difference and their sum, exact for near and for opposite points.
template <class T>
__device__ T distance_of(const DistanceRule<T>& rule, std::int64_t query, std::int64_t key) {
  constexpr double kDegrees = 180 / 3.14159265358979323846;
  const T *from = rule.query_places + query * rule.dims, *to = rule.key_places + key * rule.dims;
  T differences = 0, sums = 0;
  for (std::int64_t c = 0; c < rule.dims; ++c) {
    differences += (from[c] - to[c]) * (from[c] - to[c]);
    sums += (from[c] + to[c]) * (from[c] + to[c]);
  }
  const bool squared = rule.form == BiasForm::rbf;
  if (rule.distance == DistanceKind::euclidean) return squared ? differences : square_root(differences);
  const T angle = static_cast<T>(2 * kDegrees) * arc_tangent(square_root(differences), square_root(sums));
  return squared ? angle * angle : angle;
}

/// Calls f(column of the parameter, ∂bias/∂parameter) for every parameter of a bias of one head. A bias is the sum of
/// its parameters a, the first columns, times their slopes.
template <class T, class F>
__device__ void for_slopes(const DistanceRule<T>& rule, std::int64_t head, T d, const F& f) {
  const std::int64_t terms = rule.terms;
  if (rule.form == BiasForm::scalar) return f(0, d);
  const bool tisa = rule.form == BiasForm::tisa;
  for (std::int64_t i = 0; i < terms; ++i) {
    const T a = rule.a[head * terms + i], b = rule.b[head * terms + i];
    const T from = tisa ? d - rule.c[head * terms + i] : d, z = tisa ? from * from : d, decay = exponential(-b * z);
    f(i, decay);
    f(terms + i, -a * z * decay);
    if (tisa) f(2 * terms + i, 2 * a * b * from * decay);
  }
}

/// The biases of query and key, numbers of their batch element.
template <class T>
__device__ T bias_of(const AttentionForward<T>& p, std::int64_t unit, std::int64_t query, std::int64_t key) {
  const std::int64_t batch = unit / p.heads, head = unit % p.heads;
  T bias = 0;
  for (int g = 0; g < p.biases.count; ++g) {
    const DistanceRule<T>& rule = p.biases.of[g];
    const T d = distance_of(rule, batch * p.queries + query, batch * p.keys + key);
    for_slopes(rule, head, d, [&](std::int64_t column, T slope) {
      if (column < rule.terms) bias += rule.a[head * rule.terms + column] * slope;
    });
  }
  return bias;
}

/// Adds the gradients of a head's parameters from the pairs of a query and the lanes' keys to `row`. A lane without a
/// pair that counts has d_score 0.
template <class T>
__device__ void add_bias_slopes(const AttentionForward<T>& p, std::int64_t unit, std::int64_t query, std::int64_t key,
                                T d_score, T* row) {
  const std::int64_t batch = unit / p.heads, head = unit % p.heads;
  for (int g = 0; g < p.biases.count; ++g) {
    const DistanceRule<T>& rule = p.biases.of[g];
    const T d = d_score == 0 ? T(0) : distance_of(rule, batch * p.queries + query, batch * p.keys + key);
    for_slopes(rule, head, d, [&](std::int64_t column, T slope) {
      const T sum = warp_sum(d_score == 0 ? T(0) : d_score * slope);
      if (lane_id() == 0) row[column] += sum;
    });
    row += rule.columns();
  }
}

}  // namespace

}  // namespace npzoo
