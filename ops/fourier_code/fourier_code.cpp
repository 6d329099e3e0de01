#include "npzoo/ops/fourier_code/fourier_code.h"

#include "npzoo/engine/backend.h"
#include "npzoo/ops/fourier_code/kernels.h"

namespace npzoo {

Tensor fourier_code(const Tensor& x, std::int64_t width) {
  check(x.rank() >= 1 && width >= 0 && width % 2 == 0,
        "[fourier_code] x {} and width {} found, expected (…, D) and an even width", x.shape(), width);
  Tensor out = Tensor::empty(x.shape().with(-1, x.dim(x.rank() - 1) * width), x.dtype(), x.device());
  run("fourier_code", x, [&]<class T>(const Backend& device) {
    fourier_code<T>(device, {x.numel(), width, x.data<T>(), out.data<T>()});
  });
  return out;
}

}  // namespace npzoo
