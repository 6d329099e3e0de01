#include "npzoo/ops/masked_attention/problem.h"

#include <algorithm>
#include <cmath>

#include "npzoo/engine/backend.h"
#include "npzoo/engine/measure/flops.h"

namespace npzoo {

namespace {

void check_attention(const char* where, const Tensor& q, const Tensor& k, const Tensor& v, std::int64_t heads) {
  check(q.rank() == 3 && k.rank() == 3 && v.rank() == 3,
        "[{}] q {}, k {} and v {} must have the axes (batch, points, channels)", where, q.shape(), k.shape(),
        v.shape());
  check(q.dim(0) == k.dim(0) && k.dim(0) == v.dim(0) && k.dim(1) == v.dim(1),
        "[{}] q {}, k {} and v {} must agree in the batch, k and v in the points", where, q.shape(), k.shape(),
        v.shape());
  check(q.dim(2) == k.dim(2), "[{}] q {} and k {} must agree in the last extent", where, q.shape(), k.shape());
  check(heads >= 1 && q.dim(2) % heads == 0 && v.dim(2) % heads == 0,
        "[{}] {} heads do not divide the channels of q {} and v {}", where, heads, q.shape(), v.shape());
  check(q.dtype() == k.dtype() && k.dtype() == v.dtype(), "[{}] q is {}, k {}, v {}", where, to_string(q.dtype()),
        to_string(k.dtype()), to_string(v.dtype()));
}

double default_scale(AttentionScore score, std::int64_t width) {
  return score == AttentionScore::laplace ? 1 : 1 / std::sqrt(static_cast<double>(std::max<std::int64_t>(width, 1)));
}

}  // namespace

AttentionProblem::AttentionProblem(const char* operation_name, const Tensor& q, const Tensor& k, const Tensor& v,
                                   const PrefixMask& prefix_mask, const AttentionOptions& options)
    : operation(operation_name), mask(prefix_mask), heads(options.heads), score(options.score) {
  check_attention(operation, q, k, v, heads);
  batch = q.dim(0);
  queries = q.dim(1);
  keys = k.dim(1);
  width = q.dim(2) / heads;
  value_width = v.dim(2) / heads;
  scale = options.scale != 0 ? options.scale : default_scale(score, width);
  mask.check_fits(batch, queries);
}

std::int64_t AttentionProblem::flops() const {
  std::int64_t pairs = 0;  // of rows and keys that they see
  for (std::int64_t b = 0; b < batch; ++b) {
    if (!mask.varies_by_row()) pairs += queries * mask.visible(b, 0, keys);
    for (std::int64_t i = 0; mask.varies_by_row() && i < queries; ++i) pairs += mask.visible(b, i, keys);
  }
  return 2 * heads * (width + value_width) * pairs;
}

AttentionGradients attention_gradients(const AttentionProblem& problem, const Tensor& q, const Tensor& k,
                                       const Tensor& v, const Tensor& out, const Tensor& log2_sum, const Tensor& d_out,
                                       const Tensor& d_log_sum) {
  AttentionGradients d{Tensor::empty_like(q), Tensor::empty_like(k), Tensor::empty_like(v)};
  count_flops(2 * problem.flops());
  run(problem.operation, q, [&]<class T>(auto& device) {
    attention_backward<T>(device, {problem.arguments<T>(q, k, v, out, log2_sum), d_out.data<T>(), d_log_sum.data<T>(),
                                   d.q.data<T>(), d.k.data<T>(), d.v.data<T>()});
  });
  return d;
}

}  // namespace npzoo
