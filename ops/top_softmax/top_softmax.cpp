#include "npzoo/ops/top_softmax/top_softmax.h"

#include <algorithm>

#include "npzoo/engine/backend.h"
#include "npzoo/engine/tape.h"
#include "npzoo/ops/softmax/kernels.h"
#include "npzoo/ops/top_softmax/kernels.h"

namespace npzoo {

Tensor top_softmax(const Tensor& x, const Tensor& by, std::int64_t k) {
  check(x.rank() >= 1, "[top_softmax] x is a scalar, expected (…, D)");
  check(by.shape() == x.shape() && by.dtype() == x.dtype(), "[top_softmax] by is {} {}, expected {} {}, like x",
        to_string(by.dtype()), by.shape(), to_string(x.dtype()), x.shape());
  check(k >= 0, "[top_softmax] k is {}, expected at least 0", k);
  const std::int64_t chosen = std::min(k, x.dim(-1));
  Tensor y = Tensor::empty_like(x);
  run("top_softmax", x, [&]<class T>(const Backend& device) {
    top_softmax_forward<T>(device, {x.shape().rows(), x.dim(-1), chosen, x.data<T>(), by.data<T>(), y.data<T>()});
  });
  const Tensor saved_y = y;
  record("top_softmax", y, {x}, [x = x.symbol(), saved_y](const Tensor& d_y, Grads& grads) {
    Tensor d_x = Tensor::empty_like(x);
    run("top_softmax", d_y, [&]<class T>(const Backend& device) {
      softmax_backward<T>(device, {x.shape().rows(), x.dim(-1), saved_y.data<T>(), d_y.data<T>(), d_x.data<T>()});
    });
    grads.add(x, std::move(d_x));
  });
  return y;
}

}  // namespace npzoo
