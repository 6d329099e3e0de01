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

/// A parameter that a form of bias may have.
struct BiasParameter {
  const char* name;
  const Tensor& value;
  bool needed;
};

void check_bias(const char* where, const DistanceBias& bias, const Tensor& q, const Tensor& k, std::int64_t heads) {
  const Tensor &from = bias.query_places, &to = bias.key_places;
  check(from.rank() == 3 && to.rank() == 3 && from.dim(2) == to.dim(2) && from.dim(0) == q.dim(0) &&
            from.dim(1) == q.dim(1) && to.dim(0) == k.dim(0) && to.dim(1) == k.dim(1),
        "[{}] places {} and {} do not fit q {} and k {}", where, from.shape(), to.shape(), q.shape(), k.shape());
  check(bias.distance == DistanceKind::euclidean || from.dim(2) == 2,
        "[{}] places on a sphere have {} coordinates, expected 2: longitude and latitude", where, from.dim(2));
  const bool scalar = bias.form == BiasForm::scalar;
  check(bias.a.defined() && (scalar ? bias.a.shape() == Shape{heads} : bias.a.rank() == 2 && bias.a.dim(0) == heads),
        "[{}] the bias's a has the shape {}, expected {} for {} heads", where,
        bias.a.defined() ? bias.a.shape() : Shape{}, scalar ? "(heads)" : "(heads, terms)", heads);
  for (const BiasParameter& p : {BiasParameter{"b", bias.b, !scalar}, {"c", bias.c, bias.form == BiasForm::tisa}})
    check(p.needed ? p.value.defined() && p.value.shape() == bias.a.shape() : !p.value.defined(),
          "[{}] the bias's {} must {}", where, p.name, p.needed ? "have the shape of a" : "be left out in this form");
  for (const Tensor* x : {&from, &to, &bias.a, &bias.b, &bias.c})
    check(!x->defined() || x->dtype() == q.dtype(), "[{}] a bias is {}, expected {} as q", where, to_string(x->dtype()),
          to_string(q.dtype()));
}

/// Longitudes and latitudes (B, N, 2) → points of the unit sphere (B, N, 3).
Tensor to_sphere(const char* where, const Tensor& degrees) {
  Tensor points = Tensor::empty(degrees.shape().with(2, 3), degrees.dtype(), degrees.device());
  run(where, degrees, [&]<class T>(const Backend& device) {
    sphere_points<T>(device, {degrees.dim(0) * degrees.dim(1), degrees.data<T>(), points.data<T>()});
  });
  return points;
}

double default_scale(AttentionScore score, std::int64_t width) {
  return score == AttentionScore::laplace ? 1 : 1 / std::sqrt(static_cast<double>(std::max<std::int64_t>(width, 1)));
}

}  // namespace

AttentionProblem::AttentionProblem(const char* operation_name, const Tensor& q, const Tensor& k, const Tensor& v,
                                   const PrefixMask& prefix_mask, const AttentionOptions& options,
                                   std::span<const DistanceBias> distance_biases)
    : operation(operation_name),
      mask(prefix_mask),
      heads(options.heads),
      score(options.score),
      scan_chunk(options.scan_chunk),
      biases(distance_biases.begin(), distance_biases.end()) {
  check_attention(operation, q, k, v, heads);
  batch = q.dim(0);
  queries = q.dim(1);
  keys = k.dim(1);
  width = q.dim(2) / heads;
  value_width = v.dim(2) / heads;
  scale = options.scale != 0 ? options.scale : default_scale(score, width);
  mask.check_fits(batch, queries);
  check(scan_chunk >= 0, "[{}] chunks of {} keys found, expected 0 or more", operation, scan_chunk);
  check_biases(q, k);
}

void AttentionProblem::check_biases(const Tensor& q, const Tensor& k) {
  constexpr auto kMost = static_cast<std::size_t>(DistanceRules<float>::kMost);
  check(biases.size() <= kMost, "[{}] {} biases found, expected at most {}", operation, biases.size(), kMost);
  check(biases.empty() || score == AttentionScore::dot_product, "[{}] biases are added to dot products alone",
        operation);
  for (DistanceBias& bias : biases) {
    check_bias(operation, bias, q, k, heads);
    for (Tensor* x : {&bias.query_places, &bias.key_places, &bias.a, &bias.b, &bias.c})
      if (x->defined()) *x = x->detach();
    if (bias.distance == DistanceKind::euclidean) continue;
    bias.query_places = to_sphere(operation, bias.query_places);
    bias.key_places = to_sphere(operation, bias.key_places);
  }
}

std::int64_t AttentionProblem::bias_columns() const {
  std::int64_t columns = 0;
  for (const DistanceBias& bias : biases)
    for (const Tensor* x : {&bias.a, &bias.b, &bias.c})
      if (x->defined()) columns += x->numel() / heads;
  return columns;
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
  if (!problem.biases.empty()) d.biases = Tensor::empty({problem.heads, problem.bias_columns()}, q.dtype(), q.device());
  count_flops(2 * problem.flops());
  run(problem.operation, q, [&]<class T>(const Backend& device) {
    attention_backward<T>(device, {problem.arguments<T>(q, k, v, out, log2_sum), d_out.data<T>(), d_log_sum.data<T>(),
                                   d.q.data<T>(), d.k.data<T>(), d.v.data<T>(), d.biases.data<T>()});
  });
  return d;
}

}  // namespace npzoo
