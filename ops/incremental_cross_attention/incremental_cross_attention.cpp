#include "npzoo/ops/incremental_cross_attention/incremental_cross_attention.h"

#include <array>
#include <cmath>
#include <limits>
#include <numbers>

#include "npzoo/engine/backend.h"
#include "npzoo/engine/measure/flops.h"
#include "npzoo/engine/tape.h"
#include "npzoo/ops/concat/concat.h"
#include "npzoo/ops/elementwise/elementwise.h"
#include "npzoo/ops/incremental_cross_attention/kernels.h"
#include "npzoo/ops/masked_attention/attention_weights.h"
#include "npzoo/ops/masked_attention/problem.h"

namespace npzoo {

namespace {

Tensor natural(const Tensor& log2_sum) {
  NoGrad off;
  return affine(log2_sum, std::numbers::ln2, 0);
}

/// The arrays of two states as the kernels take them.
struct Merge {
  Merge(const AttentionState& left, const AttentionState& right) : a(left), b(right) {}

  template <class T>
  MergeForward<T> arguments(Tensor mean, Tensor log_sum) const {
    return {.batch = a.mean.dim(0),
            .latents = a.mean.dim(1),
            .heads = a.log_sum_exp.dim(1),
            .width = a.mean.dim(2) / std::max<std::int64_t>(a.log_sum_exp.dim(1), 1),
            .a_mean = a.mean.data<T>(),
            .a_log_sum = a.log_sum_exp.data<T>(),
            .b_mean = b.mean.data<T>(),
            .b_log_sum = b.log_sum_exp.data<T>(),
            .mean = mean.data<T>(),
            .log_sum = log_sum.data<T>()};
  }

  AttentionState a, b;
};

/// The weights of one state, as shares in the sum over the keys of both.
Tensor shares_of_both(const AttentionState& one, const Tensor& log_sum_of_both) {
  const auto host = [](const Tensor& x) { return x.detach().to(Device::cpu).to(DType::float64); };
  const Tensor own = host(one.log_sum_exp), both = host(log_sum_of_both);
  Tensor shares = one.weights.clone();
  const std::int64_t keys = shares.dim(-1);
  for (std::int64_t row = 0; row < own.numel(); ++row) {
    const double log_sum = own.data<double>()[row];
    const double share = std::isfinite(log_sum) ? std::exp(log_sum - both.data<double>()[row]) : 0;
    for (double& weight : shares.values<double>().subspan(std::size_t(row * keys), std::size_t(keys))) weight *= share;
  }
  return shares;
}

Tensor merged_weights(const AttentionState& a, const AttentionState& b, const Tensor& log_sum_of_both) {
  std::vector<Tensor> parts;
  for (const AttentionState* state : {&a, &b})
    if (state->weights.defined()) parts.push_back(shares_of_both(*state, log_sum_of_both));
  return parts.empty() ? Tensor() : concat(parts, -1);
}

void check_states(const AttentionState& a, const AttentionState& b) {
  for (const AttentionState* state : {&a, &b}) {
    const Tensor &mean = state->mean, &sum = state->log_sum_exp;
    check(mean.rank() == 3 && sum.rank() == 3 && mean.dim(0) == sum.dim(0) && mean.dim(1) == sum.dim(2) &&
              sum.dim(1) > 0 && mean.dim(2) % sum.dim(1) == 0,
          "[merge] mean {} and log-sum-exp {} must be (batch, latents, heads · width) and (batch, heads, latents)",
          mean.shape(), sum.shape());
  }
  check(a.mean.shape() == b.mean.shape() && a.log_sum_exp.shape() == b.log_sum_exp.shape() &&
            a.mean.dtype() == b.mean.dtype(),
        "[merge] states of {} {} with {} heads and of {} {} with {} heads do not belong together",
        to_string(a.mean.dtype()), a.mean.shape(), a.log_sum_exp.dim(1), to_string(b.mean.dtype()), b.mean.shape(),
        b.log_sum_exp.dim(1));
}

}  // namespace

AttentionState incremental_cross_attention(const Tensor& q, const Tensor& k, const Tensor& v, const PrefixMask& mask,
                                           const AttentionOptions& options) {
  const AttentionProblem problem("incremental_cross_attention", q, k, v, mask, options);
  Tensor mean = Tensor::empty({problem.batch, problem.queries, v.dim(2)}, q.dtype(), q.device());
  const Tensor log2_sum = Tensor::empty(problem.log_sum_shape(), q.dtype(), q.device());
  count_flops(problem.flops());
  run("incremental_cross_attention", q, [&]<class T>(const Backend& device) {
    attention_forward<T>(device, problem.arguments<T>(q, k, v, mean, log2_sum));
  });
  std::array outs{mean, natural(log2_sum)};
  record("incremental_cross_attention", std::span(outs), {q, k, v},
         [q, k, v, mean, log2_sum, problem](std::span<const Tensor> d_outs, Grads& grads) {
           const Tensor d_mean = d_outs[0].defined() ? d_outs[0] : Tensor::zeros_like(mean);
           auto d = attention_gradients(problem, q, k, v, mean, log2_sum, d_mean, d_outs[1]);
           grads.add(q, std::move(d.q));
           grads.add(k, std::move(d.k));
           grads.add(v, std::move(d.v));
         });
  return {outs[0], outs[1], KeepAttention::on() ? attention_weights(q, k, mask, options) : Tensor()};
}

AttentionState merge(const AttentionState& a, const AttentionState& b) {
  check_states(a, b);
  const Merge states(a, b);
  std::array outs{Tensor::empty_like(a.mean), Tensor::empty_like(a.log_sum_exp)};
  run("merge", a.mean,
      [&]<class T>(const Backend& device) { merge_forward<T>(device, states.arguments<T>(outs[0], outs[1])); });
  record("merge_attention_states", std::span(outs), {a.mean, a.log_sum_exp, b.mean, b.log_sum_exp},
         [states](std::span<const Tensor> d_outs, Grads& grads) {
           AttentionState d_a{Tensor::empty_like(states.a.mean), Tensor::empty_like(states.a.log_sum_exp)};
           AttentionState d_b{Tensor::empty_like(states.a.mean), Tensor::empty_like(states.a.log_sum_exp)};
           run("merge", states.a.mean, [&]<class T>(const Backend& device) {
             merge_backward<T>(
                 device, {states.arguments<T>({}, {}), d_outs[0].data<T>(), d_outs[1].data<T>(), d_a.mean.data<T>(),
                          d_a.log_sum_exp.data<T>(), d_b.mean.data<T>(), d_b.log_sum_exp.data<T>()});
           });
           grads.add(states.a.mean, std::move(d_a.mean));
           grads.add(states.a.log_sum_exp, std::move(d_a.log_sum_exp));
           grads.add(states.b.mean, std::move(d_b.mean));
           grads.add(states.b.log_sum_exp, std::move(d_b.log_sum_exp));
         });
  return {outs[0], outs[1], merged_weights(a, b, outs[1])};
}

AttentionState absorb(const AttentionState& state, const Tensor& q, const Tensor& k, const Tensor& v,
                      const PrefixMask& mask, const AttentionOptions& options) {
  return merge(state, incremental_cross_attention(q, k, v, mask, options));
}

}  // namespace npzoo
