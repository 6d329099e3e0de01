#include "npzoo/ops/random_feature_attention/random_feature_attention.h"

#include <cmath>
#include <utility>

#include "npzoo/engine/backend.h"
#include "npzoo/engine/device_counter.h"
#include "npzoo/engine/measure/flops.h"
#include "npzoo/engine/tape.h"
#include "npzoo/ops/elementwise/elementwise.h"
#include "npzoo/ops/random_feature_attention/kernels.h"

namespace npzoo {

namespace {

DeviceCounter clamped("attend_to_summary");

/// `x` are the keys or the queries, (B, N, H·D).
void check_features(const char* where, const Tensor& x, const Tensor& projection, const RandomFeatureOptions& options) {
  const std::int64_t width = x.dim(2) / options.heads;
  check(projection.rank() == 2 && projection.dim(0) >= 1 && projection.dim(1) == width,
        "[{}] projection {} must be (features, {}) for {} heads in {}, with at least one feature", where,
        projection.shape(), width, options.heads, x.shape());
  check(projection.dtype() == x.dtype(), "[{}] projection is {}, expected {}", where, to_string(projection.dtype()),
        to_string(x.dtype()));
  check(!needs_grad(projection), "[{}] projection is a variable, expected a constant: it gets no gradient", where);
  check(options.scale >= 0 && std::isfinite(options.scale),
        "[{}] scale is {}, expected a positive number, or 0 for one over the root of the width", where, options.scale);
}

void check_keys(const Tensor& k, const Tensor& v, const PrefixMask& mask, int heads) {
  check(k.rank() == 3 && v.rank() == 3, "[summarise_keys] k {} and v {} must have the axes (batch, points, channels)",
        k.shape(), v.shape());
  check(k.dim(0) == v.dim(0) && k.dim(1) == v.dim(1),
        "[summarise_keys] k {} and v {} must agree in the batch and in the points", k.shape(), v.shape());
  check(heads >= 1 && k.dim(2) % heads == 0 && v.dim(2) % heads == 0,
        "[summarise_keys] {} heads do not divide the channels of k {} and v {}", heads, k.shape(), v.shape());
  check(k.dtype() == v.dtype(), "[summarise_keys] k is {}, v {}", to_string(k.dtype()), to_string(v.dtype()));
  check(!mask.varies_by_row(),
        "[summarise_keys] the mask varies by row, expected one number of visible keys for each batch element");
  mask.check_fits(k.dim(0), 1);
}

void check_summary(const char* where, const KeySummary& keys) {
  const Tensor &sums = keys.sums, &shift = keys.shift;
  check(sums.rank() == 4 && sums.dim(3) >= 1 && shift.rank() == 2 && sums.dim(0) == shift.dim(0) &&
            sums.dim(1) == shift.dim(1) && sums.dtype() == shift.dtype(),
        "[{}] sums {} {} and shift {} {} do not form a key summary", where, to_string(sums.dtype()), sums.shape(),
        to_string(shift.dtype()), shift.shape());
}

void check_queries(const Tensor& q, const KeySummary& keys, int heads) {
  const Tensor& sums = keys.sums;
  check(q.rank() == 3, "[attend_to_summary] q {} must have the axes (batch, points, channels)", q.shape());
  check(heads >= 1 && q.dim(2) % heads == 0, "[attend_to_summary] {} heads do not divide the channels of q {}", heads,
        q.shape());
  check_summary("attend_to_summary", keys);
  check(q.dim(0) == sums.dim(0) && heads == sums.dim(1),
        "[attend_to_summary] q {} with {} heads does not fit sums {}, which are (batch, heads, features, channels)",
        q.shape(), heads, sums.shape());
  check(q.dtype() == sums.dtype(), "[attend_to_summary] q is {}, the key summary {}", to_string(q.dtype()),
        to_string(sums.dtype()));
}

/// `x` are the keys or the queries.
struct Problem {
  std::int64_t batch, points, heads, width, value_width, features;
  double scale;
  bool stabilised;

  Problem(const Tensor& x, std::int64_t value_channels, const Tensor& projection, const RandomFeatureOptions& options)
      : batch(x.dim(0)),
        points(x.dim(1)),
        heads(options.heads),
        width(projection.dim(1)),
        value_width(value_channels / heads),
        features(projection.dim(0)),
        scale(options.scale != 0 ? options.scale : 1 / std::sqrt(static_cast<double>(width > 0 ? width : 1))),
        stabilised(options.stabiliser == Stabiliser::maximum) {}

  template <class T>
  FeatureMap<T> map(const Tensor& projection) const {
    return {.batch = batch,
            .points = points,
            .heads = heads,
            .width = width,
            .value_width = value_width,
            .features = features,
            .scale = static_cast<T>(scale),
            .root_scale = static_cast<T>(std::sqrt(scale)),
            .normaliser = static_cast<T>(1 / std::sqrt(static_cast<double>(features))),
            .stabilised = stabilised,
            .projection = projection.data<T>()};
  }

  /// Returns the operations for the features of `count` points and their products with values.
  std::int64_t flops(std::int64_t count) const { return 2 * heads * features * (width + value_width + 1) * count; }
};

}  // namespace

KeySummary summarise_keys(const Tensor& k, const Tensor& v, const Tensor& projection, const PrefixMask& mask,
                          const RandomFeatureOptions& options) {
  check_keys(k, v, mask, options.heads);
  check_features("summarise_keys", k, projection, options);
  const Problem problem(k, v.dim(2), projection, options);
  std::int64_t visible = 0;
  for (std::int64_t b = 0; b < problem.batch; ++b) visible += mask.visible(b, 0, problem.points);
  const std::int64_t flops = problem.flops(visible);
  Tensor sums =
      Tensor::empty({problem.batch, problem.heads, problem.features, problem.value_width + 1}, k.dtype(), k.device());
  Tensor shift = Tensor::empty({problem.batch, problem.heads}, k.dtype(), k.device());
  count_flops(flops);
  run("summarise_keys", k, [&]<class T>(const Backend& device) {
    summarise_keys_forward<T>(device, {problem.map<T>(projection), mask.rule(k.device()), k.data<T>(), v.data<T>(),
                                       sums.data<T>(), shift.data<T>()});
  });
  record("summarise_keys", sums, {k, v},
         [k, v, projection, shift, problem, flops, mask](const Tensor& d_sums, Grads& grads) {
           Tensor d_k = Tensor::empty_like(k), d_v = Tensor::empty_like(v);
           count_flops(2 * flops);
           run("summarise_keys", k, [&]<class T>(const Backend& device) {
             summarise_keys_backward<T>(
                 device, {problem.map<T>(projection), mask.rule(k.device()), k.data<T>(), v.data<T>(), shift.data<T>(),
                          d_sums.data<T>(), d_k.data<T>(), d_v.data<T>()});
           });
           grads.add(k, std::move(d_k));
           grads.add(v, std::move(d_v));
         });
  return {std::move(sums), std::move(shift)};
}

KeySummary merge(const KeySummary& a, const KeySummary& b) {
  check_one_device("merge", {a.sums, a.shift, b.sums, b.shift});
  check_summary("merge", a);
  check_summary("merge", b);
  check(a.sums.shape() == b.sums.shape() && a.sums.dtype() == b.sums.dtype(),
        "[merge] key summaries of sums {} {} and {} {} must agree in shape and dtype", to_string(a.sums.dtype()),
        a.sums.shape(), to_string(b.sums.dtype()), b.sums.shape());
  Tensor shift = Tensor::empty_like(a.shift);
  const Shape one_each{a.sums.dim(0), a.sums.dim(1), 1, 1};
  Tensor of_a = Tensor::empty(one_each, shift.dtype(), shift.device()), of_b = Tensor::empty_like(of_a);
  run("merge", shift, [&]<class T>(const Backend& device) {
    merge_shifts<T>(
        device, {shift.numel(), a.shift.data<T>(), b.shift.data<T>(), shift.data<T>(), of_a.data<T>(), of_b.data<T>()});
  });
  return {add(mul(a.sums, of_a), mul(b.sums, of_b)), std::move(shift)};
}

Tensor attend_to_summary(const Tensor& q, const KeySummary& keys, const Tensor& projection,
                         const RandomFeatureOptions& options) {
  check_queries(q, keys, options.heads);
  check_features("attend_to_summary", q, projection, options);
  check(projection.dim(0) == keys.sums.dim(2), "[attend_to_summary] projection {} does not fit sums {}",
        projection.shape(), keys.sums.shape());
  const std::int64_t channels = options.heads * (keys.sums.dim(3) - 1);
  const Problem problem(q, channels, projection, options);
  const std::int64_t flops = problem.flops(problem.batch * problem.points);
  Tensor out = Tensor::empty({problem.batch, problem.points, channels}, q.dtype(), q.device());
  count_flops(flops);
  run("attend_to_summary", q, [&]<class T>(const Backend& device) {
    attend_to_summary_forward<T>(device, {problem.map<T>(projection), q.data<T>(), keys.sums.data<T>(),
                                          keys.shift.data<T>(), out.data<T>(), clamped.on(q.device())});
  });
  record("attend_to_summary", out, {q, keys.sums},
         [q, sums = keys.sums, shift = keys.shift, projection, problem, flops](const Tensor& d_out, Grads& grads) {
           Tensor d_q = Tensor::empty_like(q), d_sums = Tensor::empty_like(sums);
           count_flops(2 * flops);
           run("attend_to_summary", q, [&]<class T>(const Backend& device) {
             attend_to_summary_backward<T>(device, {problem.map<T>(projection), q.data<T>(), sums.data<T>(),
                                                    shift.data<T>(), d_out.data<T>(), d_q.data<T>(), d_sums.data<T>()});
           });
           grads.add(q, std::move(d_q));
           grads.add(sums, std::move(d_sums));
         });
  return out;
}

Tensor linear_attention(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& projection,
                        const PrefixMask& mask, const RandomFeatureOptions& options) {
  return attend_to_summary(q, summarise_keys(k, v, projection, mask, options), projection, options);
}

DeviceCounter& clamped_denominator_counter() { return clamped; }

}  // namespace npzoo
