#include "ops/masked_attention/masked_attention.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "engine/backend.h"
#include "engine/flops.h"
#include "engine/tape.h"
#include "ops/masked_attention/kernels.h"

namespace npzoo {

namespace {

/// A run is at most this long: what one thread does at a time, and the rows of weights it holds.
constexpr std::int64_t kRunRows = 128;

struct Schedule {
  std::vector<QueryRun> runs;
  std::vector<std::int64_t> first_run;

  /// Query-key pairs that are visible to each other.
  std::int64_t pairs() const {
    std::int64_t sum = 0;
    for (const QueryRun& run : runs) sum += run.rows * run.visible;
    return sum;
  }
};

Schedule schedule(const PrefixMask& mask, std::int64_t batch, std::int64_t queries, std::int64_t keys) {
  Schedule s;
  for (std::int64_t b = 0; b < batch; ++b) {
    s.first_run.push_back(static_cast<std::int64_t>(s.runs.size()));
    for (std::int64_t i = 0; i < queries; ++i) {
      const std::int64_t visible = mask.visible(b, i, keys);
      const bool extends = i > 0 && s.runs.back().visible == visible && s.runs.back().rows < kRunRows;
      if (extends)
        ++s.runs.back().rows;
      else
        s.runs.push_back({b, i, 1, visible});
    }
  }
  s.first_run.push_back(static_cast<std::int64_t>(s.runs.size()));
  return s;
}

void check_arguments(const Tensor& q, const Tensor& k, const Tensor& v, const PrefixMask& mask, int heads) {
  check(q.rank() == 3 && k.rank() == 3 && v.rank() == 3,
        "[masked_attention] q {}, k {} and v {} must have the axes (batch, points, channels)", q.shape(), k.shape(),
        v.shape());
  check(q.dim(0) == k.dim(0) && k.dim(0) == v.dim(0) && k.dim(1) == v.dim(1),
        "[masked_attention] q {}, k {} and v {} must agree in the batch, k and v in the points", q.shape(), k.shape(),
        v.shape());
  check(q.dim(2) == k.dim(2), "[masked_attention] q {} and k {} must agree in the last extent", q.shape(), k.shape());
  check(heads >= 1 && q.dim(2) % heads == 0 && v.dim(2) % heads == 0,
        "[masked_attention] {} heads do not divide the channels of q {} and v {}", heads, q.shape(), v.shape());
  check(q.dtype() == k.dtype() && k.dtype() == v.dtype(), "[masked_attention] q is {}, k {}, v {}",
        to_string(q.dtype()), to_string(k.dtype()), to_string(v.dtype()));
  mask.check_fits(q.dim(0), q.dim(1));
}

struct Problem {
  std::int64_t batch, queries, keys, heads, width, value_width;
  double scale;

  Problem(const Tensor& q, const Tensor& k, const Tensor& v, const AttentionOptions& options)
      : batch(q.dim(0)),
        queries(q.dim(1)),
        keys(k.dim(1)),
        heads(options.heads),
        width(q.dim(2) / heads),
        value_width(v.dim(2) / heads),
        scale(options.scale != 0 ? options.scale
                                 : 1 / std::sqrt(static_cast<double>(std::max<std::int64_t>(width, 1)))) {}

  template <class T>
  AttentionForward<T> arguments(const Schedule& plan, const Tensor& q, const Tensor& k, const Tensor& v, Tensor weights,
                                Tensor out) const {
    return {.batch = batch,
            .queries = queries,
            .keys = keys,
            .heads = heads,
            .width = width,
            .value_width = value_width,
            .scale = static_cast<T>(scale),
            .runs = plan.runs.data(),
            .run_count = static_cast<std::int64_t>(plan.runs.size()),
            .q = q.data<T>(),
            .k = k.data<T>(),
            .v = v.data<T>(),
            .weights = weights.data<T>(),
            .out = out.data<T>()};
  }

  std::int64_t flops(const Schedule& plan) const { return 2 * heads * (width + value_width) * plan.pairs(); }
};

}  // namespace

Tensor masked_attention(const Tensor& q, const Tensor& k, const Tensor& v, const PrefixMask& mask,
                        const AttentionOptions& options) {
  check_arguments(q, k, v, mask, options.heads);
  const Problem problem(q, k, v, options);
  auto plan = schedule(mask, problem.batch, problem.queries, problem.keys);
  const bool recorded = needs_grad(q) || needs_grad(k) || needs_grad(v);
  const Shape weights_shape{problem.batch, problem.heads, problem.queries, problem.keys};
  const Tensor weights = recorded ? Tensor::empty(weights_shape, q.dtype()) : Tensor();
  Tensor out = Tensor::empty({problem.batch, problem.queries, v.dim(2)}, q.dtype(), q.device());
  count_flops(problem.flops(plan));
  run(q,
      [&]<class T>(auto& device) { attention_forward<T>(device, problem.arguments<T>(plan, q, k, v, weights, out)); });
  record("masked_attention", out, {q, k, v},
         [q, k, v, weights, problem, plan = std::move(plan)](const Tensor& d_out, Grads& grads) {
           Tensor d_q = Tensor::empty_like(q), d_k = Tensor::empty_like(k), d_v = Tensor::empty_like(v);
           count_flops(2 * problem.flops(plan));
           run(q, [&]<class T>(auto& device) {
             attention_backward<T>(device, {problem.arguments<T>(plan, q, k, v, weights, {}), plan.first_run.data(),
                                            d_out.data<T>(), d_q.data<T>(), d_k.data<T>(), d_v.data<T>()});
           });
           grads.add(q, std::move(d_q));
           grads.add(k, std::move(d_k));
           grads.add(v, std::move(d_v));
         });
  return out;
}

}  // namespace npzoo
