#pragma once

#include "npzoo/ops/masked_attention/distance_bias.h"
#include "npzoo/ops/masked_attention/kernels.h"

namespace npzoo {

/// The arguments of an attention, checked, as its kernels take them.
class AttentionProblem {
 public:
  /// Throws Error, opened by `[operation]`, for arguments that do not fit together.
  AttentionProblem(const char* operation, const Tensor& q, const Tensor& k, const Tensor& v, const PrefixMask& mask,
                   const AttentionOptions& options, std::span<const DistanceBias> distance_biases = {});

  /// `log2_sum` may be undefined.
  template <class T>
  AttentionForward<T> arguments(const Tensor& q, const Tensor& k, const Tensor& v, Tensor out, Tensor log2_sum) const {
    return {.batch = batch,
            .queries = queries,
            .keys = keys,
            .heads = heads,
            .width = width,
            .value_width = value_width,
            .scale = scale,
            .score = score,
            .mask = mask.rule(q.device()),
            .q = q.data<T>(),
            .k = k.data<T>(),
            .v = v.data<T>(),
            .out = out.data<T>(),
            .log2_sum = log2_sum.data<T>(),
            .scan_chunk = scan_chunk,
            .biases = rules<T>()};
  }

  Shape log_sum_shape() const { return {batch, heads, queries}; }
  /// Returns the operations of the forward products between rows and the keys that they see.
  std::int64_t flops() const;
  /// Parameters of one head in all biases together.
  std::int64_t bias_columns() const;

  const char* operation;
  PrefixMask mask;
  std::int64_t batch, queries, keys, heads, width = 0, value_width = 0;
  double scale = 1;
  AttentionScore score;
  std::int64_t scan_chunk;
  std::vector<DistanceBias> biases;  // great circles with points of the unit sphere for places

 private:
  void check_biases(const Tensor& q, const Tensor& k);
  template <class T>
  DistanceRules<T> rules() const {
    DistanceRules<T> all;
    for (const DistanceBias& bias : biases)
      all.of[all.count++] = {bias.form,
                             bias.distance,
                             bias.query_places.dim(2),
                             bias.a.numel() / heads,
                             bias.query_places.data<T>(),
                             bias.key_places.data<T>(),
                             bias.a.data<T>(),
                             bias.b.data<T>(),
                             bias.c.data<T>()};
    return all;
  }
};

struct AttentionGradients {
  Tensor q, k, v;
  Tensor biases{};  // (heads, columns of the biases), undefined if there are none
};

/// Gradients from those of the output and, if it is defined, of the natural log-sum-exp.
AttentionGradients attention_gradients(const AttentionProblem& problem, const Tensor& q, const Tensor& k,
                                       const Tensor& v, const Tensor& out, const Tensor& log2_sum, const Tensor& d_out,
                                       const Tensor& d_log_sum);

}  // namespace npzoo
