#include <algorithm>

#include "npzoo/engine/backend.h"
#include "npzoo/engine/measure/flops.h"
#include "npzoo/engine/tape.h"
#include "npzoo/ops/concat/concat.h"
#include "npzoo/ops/masked_attention/problem.h"

namespace npzoo {

namespace {

/// The parameters of the biases, in the order of the columns of their gradients.
std::vector<Tensor> bias_parameters(std::span<const DistanceBias> biases) {
  std::vector<Tensor> all;
  for (const DistanceBias& bias : biases)
    for (const Tensor* x : {&bias.a, &bias.b, &bias.c})
      if (x->defined()) all.push_back(*x);
  return all;
}

}  // namespace

Tensor biased_attention(const Tensor& q, const Tensor& k, const Tensor& v, const PrefixMask& mask,
                        const AttentionOptions& options, std::span<const DistanceBias> biases) {
  const AttentionProblem problem("biased_attention", q, k, v, mask, options, biases);
  const std::vector<Tensor> parameters = bias_parameters(biases);
  std::vector<Tensor> inputs{q, k, v};
  inputs.insert(inputs.end(), parameters.begin(), parameters.end());
  const bool recorded = std::ranges::any_of(inputs, needs_grad);
  Tensor out = Tensor::empty({problem.batch, problem.queries, v.dim(2)}, q.dtype(), q.device());
  const Tensor log2_sum = recorded ? Tensor::empty(problem.log_sum_shape(), q.dtype(), q.device()) : Tensor();
  count_flops(problem.flops());
  run("biased_attention", q, [&]<class T>(const Backend& device) {
    attention_forward<T>(device, problem.arguments<T>(q, k, v, out, log2_sum));
  });
  record("biased_attention", out, std::span<const Tensor>(inputs),
         [q, k, v, parameters, out = out.detach(), log2_sum, problem](const Tensor& d_out, Grads& grads) {
           auto d = attention_gradients(problem, q, k, v, out, log2_sum, d_out, {});
           grads.add(q, std::move(d.q));
           grads.add(k, std::move(d.k));
           grads.add(v, std::move(d.v));
           std::int64_t column = 0;
           for (const Tensor& parameter : parameters) {
             const std::int64_t end = column + parameter.numel() / problem.heads;
             grads.add(parameter, slice(d.biases, 1, column, end).view(parameter.shape()));
             column = end;
           }
         });
  return out;
}

}  // namespace npzoo
