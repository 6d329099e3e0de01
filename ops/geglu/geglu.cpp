#include "npzoo/ops/geglu/geglu.h"

#include "npzoo/engine/backend.h"
#include "npzoo/engine/tape.h"
#include "npzoo/ops/geglu/kernels.h"

namespace npzoo {

Tensor geglu(const Tensor& x) {
  check(x.rank() >= 1 && x.dim(-1) % 2 == 0, "[geglu] x {} found, expected (…, 2 F)", x.shape());
  const std::int64_t width = x.dim(-1) / 2;
  Tensor y = Tensor::empty(x.shape().with(-1, width), x.dtype(), x.device());
  run("geglu", x, [&]<class T>(const Backend& device) {
    geglu_forward<T>(device, {x.shape().rows(), width, x.data<T>(), y.data<T>()});
  });
  record("geglu", y, {x}, [x](const Tensor& d_y, Grads& grads) {
    Tensor d_x = Tensor::empty_like(x);
    run("geglu", x, [&]<class T>(const Backend& device) {
      geglu_backward<T>(device, {x.shape().rows(), x.dim(-1) / 2, x.data<T>(), d_y.data<T>(), d_x.data<T>()});
    });
    grads.add(x, std::move(d_x));
  });
  return y;
}

}  // namespace npzoo
