#include "npzoo/ops/linear/linear.h"

#include "npzoo/engine/backend.h"
#include "npzoo/engine/measure/flops.h"
#include "npzoo/engine/tape.h"
#include "npzoo/ops/linear/kernels.h"

namespace npzoo {

namespace {

void check_layer(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  check(x.rank() >= 1 && weight.rank() == 2 && weight.dim(1) == x.dim(-1),
        "[linear] x {} and weight {} must be (…, K) and (N, K)", x.shape(), weight.shape());
  check(weight.dtype() == x.dtype(), "[linear] x is {}, weight {}", to_string(x.dtype()), to_string(weight.dtype()));
  check(!bias.defined() || bias.dtype() == x.dtype(), "[linear] x is {}, bias {}", to_string(x.dtype()),
        to_string(bias.dtype()));
  check(!bias.defined() || bias.shape() == Shape{weight.dim(0)}, "[linear] bias {} must be ({}) for weight {}",
        bias.shape(), weight.dim(0), weight.shape());
}

void forward(const Tensor& x, const Tensor& weight, const Tensor& bias, Activation activation, Tensor& out) {
  const std::int64_t rows = x.shape().rows(), columns = weight.dim(1), width = weight.dim(0);
  count_flops(2 * rows * columns * width);
  run("linear", x, [&]<class T>(const Backend& device) {
    if (columns <= NarrowLinear<T>::kMaxColumns)
      return narrow_linear<T>(
          device, {rows, columns, width, x.data<T>(), weight.data<T>(), bias.data<T>(), out.data<T>(), activation});
    gemm<T>(device, {.m = rows,
                     .n = width,
                     .k = columns,
                     .a = x.data<T>(),
                     .a_row = columns,
                     .a_col = 1,
                     .b = weight.data<T>(),
                     .b_row = 1,
                     .b_col = columns,
                     .c = out.data<T>(),
                     .c_row = width,
                     .bias = bias.data<T>(),
                     .activation = activation});
  });
}

/// Gradient before the activation; adds the bias' gradient on the way. `out` is undefined without activation.
Tensor epilogue_backward(const Tensor& d_out, const Tensor& out, const Tensor& bias, Grads& grads) {
  Tensor d_pre = out.defined() ? Tensor::empty_like(d_out) : d_out;
  Tensor d_bias = grads.wants(bias) ? Tensor::empty_like(bias) : Tensor();
  if (!out.defined() && !d_bias.defined()) return d_pre;
  run("linear", d_out, [&]<class T>(const Backend& device) {
    linear_epilogue_backward<T>(device, {d_out.shape().rows(), d_out.dim(-1), d_out.data<T>(), out.data<T>(),
                                         d_pre.data<T>(), d_bias.data<T>()});
  });
  grads.add(bias, std::move(d_bias));
  return d_pre;
}

void backward(const Tensor& x, const Tensor& weight, const Tensor& d_pre, Grads& grads) {
  const std::int64_t rows = x.shape().rows(), columns = weight.dim(1), width = weight.dim(0);
  count_flops(2 * rows * columns * width * (grads.wants(weight) + grads.wants(x)));
  run("linear", x, [&]<class T>(const Backend& device) {
    if (grads.wants(weight)) {
      auto [d_weight, accumulate] = grads.into(weight);
      gemm<T>(device, {.m = width,
                       .n = columns,
                       .k = rows,
                       .a = d_pre.data<T>(),
                       .a_row = 1,
                       .a_col = width,
                       .b = x.data<T>(),
                       .b_row = columns,
                       .b_col = 1,
                       .c = d_weight.template data<T>(),
                       .c_row = columns,
                       .accumulate = accumulate});
    }
    if (grads.wants(x)) {
      auto [d_x, accumulate] = grads.into(x);
      gemm<T>(device, {.m = rows,
                       .n = columns,
                       .k = width,
                       .a = d_pre.data<T>(),
                       .a_row = width,
                       .a_col = 1,
                       .b = weight.data<T>(),
                       .b_row = columns,
                       .b_col = 1,
                       .c = d_x.template data<T>(),
                       .c_row = columns,
                       .accumulate = accumulate});
    }
  });
}

}  // namespace

Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias, Activation activation) {
  check_layer(x, weight, bias);
  Tensor out = Tensor::empty(x.shape().with(-1, weight.dim(0)), x.dtype(), x.device());
  forward(x, weight, bias, activation, out);
  const Tensor saved_out = activation == Activation::relu ? out : Tensor();
  record("linear", out, {x, weight, bias},
         [x, weight, bias = bias.symbol(), saved_out](const Tensor& d_out, Grads& grads) {
           backward(x, weight, epilogue_backward(d_out, saved_out, bias, grads), grads);
         });
  return out;
}

}  // namespace npzoo
