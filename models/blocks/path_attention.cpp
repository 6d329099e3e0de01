#include "npzoo/models/blocks/path_attention.h"

#include "npzoo/ops/gather/gather.h"
#include "npzoo/ops/incremental_cross_attention/incremental_cross_attention.h"
#include "npzoo/ops/reshape/reshape.h"

namespace npzoo {

namespace {

/// (B·P, H, n) → (B, H, P·n).
Tensor heads_first(const Tensor& log_sum_exp, std::int64_t batch) {
  const std::int64_t heads = log_sum_exp.dim(1), n = log_sum_exp.dim(2), paths = log_sum_exp.dim(0) / batch;
  if (paths == 1) return log_sum_exp;
  Tensor index = Tensor::empty({batch, heads * paths}, DType::int64, Device::cpu);
  const auto order = index.values<std::int64_t>();
  for (std::int64_t i = 0; i < index.numel(); ++i) order[i] = i % paths * heads + i / paths % heads;
  const Tensor by_path = reshape(log_sum_exp, {batch, paths * heads, n});
  return reshape(gather(by_path, index), {batch, heads, paths * n});
}

}  // namespace

Tensor attend_along_paths(const MultiheadAttention& attention, const Tensor& x, const KeysValues& context,
                          const PrefixMask& context_mask, const KeysValues& own, const PrefixMask& own_mask) {
  const Tensor q = attention.query(x);  // (B·P, n, H·D)
  const std::int64_t batch = context.keys.dim(0), width = q.dim(2);
  const Shape rows = q.shape(), tasks{batch, q.numel() / std::max<std::int64_t>(batch * width, 1), width};
  const AttentionState to_context =
      incremental_cross_attention(reshape(q, tasks), context.keys, context.values, context_mask, attention.options());
  AttentionState to_own = incremental_cross_attention(q, own.keys, own.values, own_mask, attention.options());
  to_own = {reshape(to_own.mean, tasks), heads_first(to_own.log_sum_exp, batch)};
  const AttentionState to_both = merge(to_context, to_own);
  tell_listener(context.origin, context.values, to_both.mean, [&] { return to_both.weights; });
  return attention.out(reshape(to_both.mean, rows));
}

}  // namespace npzoo
