#include "npzoo/ops/softmax/softmax.h"

#include "npzoo/engine/backend.h"
#include "npzoo/engine/tape.h"
#include "npzoo/ops/softmax/kernels.h"

namespace npzoo {

Tensor softmax(const Tensor& x) {
  check(x.rank() >= 1, "[softmax] x is a scalar, expected (…, D)");
  Tensor y = Tensor::empty_like(x);
  run("softmax", x, [&]<class T>(const Backend& device) {
    softmax_forward<T>(device, {x.shape().rows(), x.dim(-1), x.data<T>(), y.data<T>()});
  });
  const Tensor saved_y = y;
  record("softmax", y, {x}, [x = x.symbol(), saved_y](const Tensor& d_y, Grads& grads) {
    Tensor d_x = Tensor::empty_like(x);
    run("softmax", d_y, [&]<class T>(const Backend& device) {
      softmax_backward<T>(device, {x.shape().rows(), x.dim(-1), saved_y.data<T>(), d_y.data<T>(), d_x.data<T>()});
    });
    grads.add(x, std::move(d_x));
  });
  return y;
}

Tensor log_softmax(const Tensor& x) {
  check(x.rank() >= 1, "[log_softmax] x is a scalar, expected (…, D)");
  Tensor y = Tensor::empty_like(x);
  run("log_softmax", x, [&]<class T>(const Backend& device) {
    log_softmax_forward<T>(device, {x.shape().rows(), x.dim(-1), x.data<T>(), y.data<T>()});
  });
  const Tensor saved_y = y;
  record("log_softmax", y, {x}, [x = x.symbol(), saved_y](const Tensor& d_y, Grads& grads) {
    Tensor d_x = Tensor::empty_like(x);
    run("log_softmax", d_y, [&]<class T>(const Backend& device) {
      log_softmax_backward<T>(device, {x.shape().rows(), x.dim(-1), saved_y.data<T>(), d_y.data<T>(), d_x.data<T>()});
    });
    grads.add(x, std::move(d_x));
  });
  return y;
}

}  // namespace npzoo
