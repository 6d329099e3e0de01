#include "npzoo/ops/moving_average/moving_average.h"

#include "npzoo/engine/backend.h"
#include "npzoo/engine/tape.h"
#include "npzoo/ops/moving_average/kernels.h"

namespace npzoo {

namespace {

Tensor averaged(const Tensor& x, std::int64_t reach, bool transposed) {
  Tensor y = Tensor::empty_like(x);
  run("moving_average", x, [&]<class T>(const Backend& device) {
    moving_average_forward<T>(device, {x.dim(0), x.dim(1), x.dim(2), reach, transposed, x.data<T>(), y.data<T>()});
  });
  return y;
}

}  // namespace

Tensor moving_average(const Tensor& x, std::int64_t width) {
  check(x.rank() == 3, "[moving_average] x is {}, expected (B, L, D)", x.shape());
  check(width >= 1 && width % 2 == 1, "[moving_average] width is {}, expected an odd number of at least 1", width);
  const std::int64_t reach = width / 2;
  Tensor y = averaged(x, reach, false);
  record("moving_average", y, {x},
         [x = x.symbol(), reach](const Tensor& d_y, Grads& grads) { grads.add(x, averaged(d_y, reach, true)); });
  return y;
}

}  // namespace npzoo
