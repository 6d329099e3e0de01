#pragma once

#include "npzoo/ops/masked_attention/kernels.h"
#include "npzoo/ops/masked_attention/masked_attention.h"

namespace npzoo {

/// The arguments of an attention, checked, as its kernels take them.
class AttentionProblem {
 public:
  /// Throws Error, opened by `[operation]`, for arguments that do not fit together.
  AttentionProblem(const char* operation, const Tensor& q, const Tensor& k, const Tensor& v, const PrefixMask& mask,
                   const AttentionOptions& options);

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
            .log2_sum = log2_sum.data<T>()};
  }

  Shape log_sum_shape() const { return {batch, heads, queries}; }
  /// Returns the operations of the forward products between rows and the keys that they see.
  std::int64_t flops() const;

  const char* operation;
  PrefixMask mask;
  std::int64_t batch, queries, keys, heads, width = 0, value_width = 0;
  double scale = 1;
  AttentionScore score;
};

struct AttentionGradients {
  Tensor q, k, v;
};

/// Gradients from those of the output and, if it is defined, of the natural log-sum-exp.
AttentionGradients attention_gradients(const AttentionProblem& problem, const Tensor& q, const Tensor& k,
                                       const Tensor& v, const Tensor& out, const Tensor& log2_sum, const Tensor& d_out,
                                       const Tensor& d_log_sum);

}  // namespace npzoo
