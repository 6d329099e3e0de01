#include "npzoo/ops/max_pool/max_pool.h"

#include "npzoo/engine/backend.h"
#include "npzoo/engine/tape.h"
#include "npzoo/ops/max_pool/kernels.h"

namespace npzoo {

Tensor max_pool(const Tensor& x, const PoolConfig& config) {
  check(x.rank() == 3, "[max_pool] x is {}, expected (B, L, C)", x.shape());
  check(config.width >= 1 && config.stride >= 1, "[max_pool] width {} and stride {} found, expected 1 or more",
        config.width, config.stride);
  check(0 <= config.padding && config.padding <= config.width / 2, "[max_pool] padding {} found, expected 0 to {}",
        config.padding, config.width / 2);
  const std::int64_t room = x.dim(1) - (config.width - 2 * config.padding);
  const bool any = x.dim(1) > 0 && room >= 0;
  const PoolWindows at{x.dim(0),     x.dim(1),      x.dim(2),      any ? room / config.stride + 1 : 0,
                       config.width, config.stride, config.padding};
  Tensor y = Tensor::empty({at.batch, at.out_length, at.channels}, x.dtype(), x.device());
  run("max_pool", x, [&]<class T>(const Backend& device) {
    max_pool_forward<T>(device, {at, x.data<T>(), y.data<T>()});
  });
  record("max_pool", y, {x}, [x, at](const Tensor& d_y, Grads& grads) {
    Tensor d_x = Tensor::empty_like(x);
    run("max_pool", x, [&]<class T>(const Backend& device) {
      max_pool_backward<T>(device, {at, x.data<T>(), d_y.data<T>(), d_x.data<T>()});
    });
    grads.add(x, d_x);
  });
  return y;
}

}  // namespace npzoo
