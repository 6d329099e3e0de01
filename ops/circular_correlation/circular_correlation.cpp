#include "npzoo/ops/circular_correlation/circular_correlation.h"

#include <algorithm>
#include <cmath>

#include "npzoo/engine/backend.h"
#include "npzoo/engine/measure/flops.h"
#include "npzoo/engine/tape.h"
#include "npzoo/ops/circulant/circulant.h"
#include "npzoo/ops/circular_correlation/kernels.h"
#include "npzoo/ops/matmul/matmul.h"

namespace npzoo {

namespace {

// The shortest series for which transforms are the faster way: measured on the host, and on a device estimated by its
// arithmetic and memory traffic.
constexpr std::int64_t kShortestOnHost = 96, kShortestOnDevice = 256;

/// Allocates the arrays that a kernel needs on a device; on the host the kernel does it itself.
template <class P>
Tensor workspace(const P& p, const Tensor& like) {
  return like.device() == Device::cuda ? Tensor::empty({p.work_elements()}, like.dtype(), like.device()) : Tensor();
}

/// Transforms of real series, by the usual 5/2 L log₂ L each, whatever the lengths that are really transformed.
void count_transforms(std::int64_t series, std::int64_t length) {
  const auto steps = static_cast<double>(length);
  count_flops(series * static_cast<std::int64_t>(2.5 * steps * std::log2(std::max(steps, 1.0))));
}

Tensor correlation_by_transforms(const Tensor& q, const Tensor& k) {
  Tensor out = Tensor::empty({q.dim(0), q.dim(1)}, q.dtype(), q.device());
  count_transforms(q.dim(0) * (2 * q.dim(2) + 1), q.dim(1));
  run("circular_correlation", q, [&]<class T>(const Backend& device) {
    CircularCorrelation<T> p{q.dim(0), q.dim(1), q.dim(2), q.data<T>(), k.data<T>(), out.data<T>(), nullptr};
    Tensor work = workspace(p, q);
    if (work.defined()) p.work = work.data<T>();
    circular_correlation_fourier<T>(device, p);
  });
  return out;
}

Tensor delayed_sum_by_transforms(const Tensor& weights, const Tensor& values, bool reversed) {
  Tensor out = Tensor::empty_like(values);
  count_transforms(values.dim(0) * (2 * values.dim(2) + 1), values.dim(1));
  run("delayed_sum", values, [&]<class T>(const Backend& device) {
    DelayedSum<T> p{values.dim(0),     values.dim(1),    values.dim(2), reversed,
                    weights.data<T>(), values.data<T>(), out.data<T>(), nullptr};
    Tensor work = workspace(p, values);
    if (work.defined()) p.work = work.data<T>();
    delayed_sum_fourier<T>(device, p);
  });
  return out;
}

CircularMethod chosen_method(CircularMethod method, const Tensor& x) {
  return method == CircularMethod::automatic ? circular_method(x.dim(1), x.device()) : method;
}

}  // namespace

CircularMethod circular_method(std::int64_t length, Device device) {
  return length < (device == Device::cuda ? kShortestOnDevice : kShortestOnHost) ? CircularMethod::products
                                                                                 : CircularMethod::fourier;
}

Tensor circular_correlation(const Tensor& q, const Tensor& k, CircularMethod method) {
  check_one_device("circular_correlation", {q, k});
  check(q.rank() == 3, "[circular_correlation] q is {}, expected (B, L, E)", q.shape());
  check(k.shape() == q.shape() && k.dtype() == q.dtype(), "[circular_correlation] k is {} {}, expected {} {}, like q",
        to_string(k.dtype()), k.shape(), to_string(q.dtype()), q.shape());
  if (chosen_method(method, q) == CircularMethod::products)
    return circulant_sums(matmul(k, q, Transpose::no, Transpose::yes));  // of (B, L, L)
  Tensor out = correlation_by_transforms(q, k);
  record("circular_correlation", out, {q, k}, [q, k](const Tensor& d_out, Grads& grads) {
    if (grads.wants(q)) grads.add(q, delayed_sum_by_transforms(d_out, k, true));
    if (grads.wants(k)) grads.add(k, delayed_sum_by_transforms(d_out, q, false));
  });
  return out;
}

Tensor delayed_sum(const Tensor& weights, const Tensor& values, CircularMethod method) {
  check_one_device("delayed_sum", {weights, values});
  check(values.rank() == 3, "[delayed_sum] values are {}, expected (B, L, E)", values.shape());
  const Shape expected{values.dim(0), values.dim(1)};
  check(weights.shape() == expected && weights.dtype() == values.dtype(),
        "[delayed_sum] weights are {} {}, expected {} {} for values {}", to_string(weights.dtype()), weights.shape(),
        to_string(values.dtype()), expected, values.shape());
  if (chosen_method(method, values) == CircularMethod::products) return matmul(circulant(weights), values);
  Tensor out = delayed_sum_by_transforms(weights, values, false);
  record("delayed_sum", out, {weights, values}, [weights, values](const Tensor& d_out, Grads& grads) {
    if (grads.wants(weights)) grads.add(weights, correlation_by_transforms(values, d_out));
    if (grads.wants(values)) grads.add(values, delayed_sum_by_transforms(weights, d_out, true));
  });
  return out;
}

}  // namespace npzoo
