#include "npzoo/ops/reduce/reduce.h"

#include "npzoo/engine/backend.h"
#include "npzoo/engine/fill.h"
#include "npzoo/engine/tape.h"
#include "npzoo/ops/elementwise/elementwise.h"
#include "npzoo/ops/mask_points/lengths.h"
#include "npzoo/ops/reduce/axis.h"
#include "npzoo/ops/reduce/kernels.h"
#include "npzoo/ops/reshape/reshape.h"

namespace npzoo {

namespace {

/// Adds the cotangent of a sum to the gradients of its summands. `kept` is the sum's shape with extent 1 along the
/// summed axes.
void spread(const Tensor& x, const Shape& kept, const Tensor& d_out, Grads& grads) {
  grads.add(x, broadcast_to(d_out.view(kept), x.shape()));
}

}  // namespace

Tensor sum(const Tensor& x) {
  Tensor out = sum_to(x, {});
  record("sum", out, {x}, [x = x.symbol()](const Tensor& d_out, Grads& grads) { spread(x, {}, d_out, grads); });
  return out;
}

Tensor sum(const Tensor& x, int axis_index) {
  const AxisView axis = axis_of("sum", x.shape(), axis_index);
  const Shape kept = x.shape().with(axis.index, 1);
  Tensor out = sum_to(x, kept).view(x.shape().without(axis.index));
  record("sum", out, {x}, [x = x.symbol(), kept](const Tensor& d_out, Grads& grads) { spread(x, kept, d_out, grads); });
  return out;
}

Tensor mean(const Tensor& x) {
  const double weight = 1 / static_cast<double>(x.numel());
  Tensor out = sum_to(x, {}, weight);
  record("mean", out, {x}, [x = x.symbol(), weight](const Tensor& d_out, Grads& grads) {
    spread(x, {}, affine(d_out, weight, 0), grads);
  });
  return out;
}

Tensor mean(const Tensor& x, int axis_index) {
  const AxisView axis = axis_of("mean", x.shape(), axis_index);
  const double weight = 1 / static_cast<double>(axis.extent);
  const Shape kept = x.shape().with(axis.index, 1);
  Tensor out = sum_to(x, kept, weight).view(x.shape().without(axis.index));
  record("mean", out, {x}, [x = x.symbol(), kept, weight](const Tensor& d_out, Grads& grads) {
    spread(x, kept, affine(d_out, weight, 0), grads);
  });
  return out;
}

Tensor logsumexp(const Tensor& x, int axis_index) {
  const AxisView axis = axis_of("logsumexp", x.shape(), axis_index);
  Tensor out = Tensor::empty(x.shape().without(axis.index), x.dtype(), x.device());
  run("logsumexp", x, [&]<class T>(const Backend& device) {
    logsumexp_forward<T>(device, {axis.outer, axis.extent, axis.inner, x.data<T>(), out.data<T>()});
  });
  const Tensor saved_out = out;
  record("logsumexp", out, {x}, [x, saved_out, axis](const Tensor& d_out, Grads& grads) {
    Tensor d_x = Tensor::empty_like(x);
    run("logsumexp", x, [&]<class T>(const Backend& device) {
      logsumexp_backward<T>(device, {axis.outer, axis.extent, axis.inner, x.data<T>(), saved_out.data<T>(),
                                     d_out.data<T>(), d_x.data<T>()});
    });
    grads.add(x, std::move(d_x));
  });
  return out;
}

Tensor masked_mean(const Tensor& x, const Tensor& lengths) {
  check(x.rank() == 3, "[masked_mean] x is {}, expected (B, N, D)", x.shape());
  if (lengths.defined()) check_lengths("masked_mean", x, lengths);
  const Tensor there = lengths.to(x.device());
  Tensor out = Tensor::empty(x.shape().without(1), x.dtype(), x.device());
  run("masked_mean", x, [&]<class T>(const Backend& device) {
    masked_mean_forward<T>(device,
                           {x.dim(0), x.dim(1), x.dim(2), there.data<std::int64_t>(), x.data<T>(), out.data<T>()});
  });
  record("masked_mean", out, {x}, [x = x.symbol(), lengths = there](const Tensor& d_out, Grads& grads) {
    Tensor d_x = Tensor::empty_like(x);
    run("masked_mean", d_out, [&]<class T>(const Backend& device) {
      masked_mean_backward<T>(
          device, {x.dim(0), x.dim(1), x.dim(2), lengths.data<std::int64_t>(), d_out.data<T>(), d_x.data<T>()});
    });
    grads.add(x, std::move(d_x));
  });
  return out;
}

}  // namespace npzoo
