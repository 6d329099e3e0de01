#include "npzoo/ops/layer_norm/layer_norm.h"

#include "npzoo/engine/backend.h"
#include "npzoo/engine/tape.h"
#include "npzoo/ops/layer_norm/kernels.h"

namespace npzoo {

namespace {

struct Statistics {
  Tensor mean, inverse_deviation;  // one of each per row
};

void check_gain_and_bias(const Tensor& x, const Tensor& gain, const Tensor& bias) {
  check(x.rank() >= 1, "[layer_norm] x is a scalar, expected (…, D)");
  const Shape row{x.dim(-1)};
  check(gain.shape() == row && bias.shape() == row, "[layer_norm] gain {} and bias {} must both be {} for x {}",
        gain.shape(), bias.shape(), row, x.shape());
  check(gain.dtype() == x.dtype() && bias.dtype() == x.dtype(), "[layer_norm] x is {}, gain {}, bias {}",
        to_string(x.dtype()), to_string(gain.dtype()), to_string(bias.dtype()));
}

/// Normalises x, or x + residual where `sum` is defined and receives that.
Statistics forward(const Tensor& x, const Tensor& residual, const Tensor& gain, const Tensor& bias, double eps,
                   Tensor& sum, Tensor& norm) {
  const std::int64_t rows = x.shape().rows();
  Statistics s{Tensor::empty({rows}, x.dtype(), x.device()), Tensor::empty({rows}, x.dtype(), x.device())};
  run("layer_norm", x, [&]<class T>(const Backend& device) {
    layer_norm_forward<T>(
        device, {rows, x.dim(-1), x.data<T>(), residual.data<T>(), gain.data<T>(), bias.data<T>(), static_cast<T>(eps),
                 sum.data<T>(), norm.data<T>(), s.mean.data<T>(), s.inverse_deviation.data<T>()});
  });
  return s;
}

/// Adds the gradients of gain and bias to `grads` and returns that of what was normalised.
Tensor backward(const Tensor& x, const Tensor& gain, const Tensor& bias, const Statistics& s, const Tensor& d_norm,
                const Tensor& d_sum, Grads& grads) {
  Tensor d_x = Tensor::empty_like(x), d_gain, d_bias;
  if (grads.wants(gain) || grads.wants(bias)) {
    d_gain = Tensor::empty_like(gain);
    d_bias = Tensor::empty_like(gain);
  }
  run("layer_norm", x, [&]<class T>(const Backend& device) {
    layer_norm_backward<T>(device, {x.shape().rows(), x.dim(-1), x.data<T>(), gain.data<T>(), s.mean.data<T>(),
                                    s.inverse_deviation.data<T>(), d_norm.data<T>(), d_sum.data<T>(), d_x.data<T>(),
                                    d_gain.data<T>(), d_bias.data<T>()});
  });
  grads.add(gain, d_gain);
  grads.add(bias, d_bias);
  return d_x;
}

}  // namespace

Tensor layer_norm(const Tensor& x, const Tensor& gain, const Tensor& bias, double eps) {
  check_gain_and_bias(x, gain, bias);
  Tensor none, norm = Tensor::empty_like(x);
  const Statistics s = forward(x, none, gain, bias, eps, none, norm);
  record("layer_norm", norm, {x, gain, bias}, [x, gain, bias = bias.symbol(), s](const Tensor& d_norm, Grads& grads) {
    grads.add(x, backward(x, gain, bias, s, d_norm, {}, grads));
  });
  return norm;
}

ResidualNorm residual_layer_norm(const Tensor& x, const Tensor& residual, const Tensor& gain, const Tensor& bias,
                                 double eps) {
  check_gain_and_bias(x, gain, bias);
  check(residual.shape() == x.shape() && residual.dtype() == x.dtype(),
        "[layer_norm] x {} and residual {} must agree in shape and dtype", x.shape(), residual.shape());
  std::array<Tensor, 2> outs{Tensor::empty_like(x), Tensor::empty_like(x)};
  auto& [sum, norm] = outs;
  const Statistics s = forward(x, residual, gain, bias, eps, sum, norm);
  const Tensor sum_value = sum;
  record("residual_layer_norm", outs, {x, residual, gain, bias},
         [x = x.symbol(), residual = residual.symbol(), gain, bias = bias.symbol(), sum_value, s](
             std::span<const Tensor> d_outs, Grads& grads) {
           const Tensor& d_sum = d_outs[0];
           const Tensor d_x = d_outs[1].defined() ? backward(sum_value, gain, bias, s, d_outs[1], d_sum, grads) : d_sum;
           grads.add(x, d_x);
           grads.add(residual, d_x);
         });
  return {sum, norm};
}

}  // namespace npzoo
