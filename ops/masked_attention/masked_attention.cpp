#include "npzoo/ops/masked_attention/masked_attention.h"

#include "npzoo/engine/backend.h"
#include "npzoo/engine/measure/flops.h"
#include "npzoo/engine/tape.h"
#include "npzoo/ops/masked_attention/problem.h"

namespace npzoo {

Tensor masked_attention(const Tensor& q, const Tensor& k, const Tensor& v, const PrefixMask& mask,
                        const AttentionOptions& options) {
  const AttentionProblem problem("masked_attention", q, k, v, mask, options);
  const bool recorded = needs_grad(q) || needs_grad(k) || needs_grad(v);
  Tensor out = Tensor::empty({problem.batch, problem.queries, v.dim(2)}, q.dtype(), q.device());
  const Tensor log2_sum = recorded ? Tensor::empty(problem.log_sum_shape(), q.dtype(), q.device()) : Tensor();
  count_flops(problem.flops());
  run("masked_attention", q, [&]<class T>(const Backend& device) {
    attention_forward<T>(device, problem.arguments<T>(q, k, v, out, log2_sum));
  });
  record("masked_attention", out, {q, k, v},
         [q, k, v, out = out.detach(), log2_sum, problem](const Tensor& d_out, Grads& grads) {
           auto d = attention_gradients(problem, q, k, v, out, log2_sum, d_out, {});
           grads.add(q, std::move(d.q));
           grads.add(k, std::move(d.k));
           grads.add(v, std::move(d.v));
         });
  return out;
}

}  // namespace npzoo
