#include "npzoo/engine/cuda/launch.h"
#include "npzoo/ops/max_pool/kernels.h"

namespace npzoo {

template <class T>
void max_pool_forward(Cuda& cuda, const MaxPoolForward<T>& p) {
  for_each(cuda, "max_pool", p.at.batch * p.at.out_length * p.at.channels, [p] __device__(std::int64_t i) {
    const std::int64_t row = i / p.at.channels, c = i % p.at.channels;
    const T* x = p.x + row / p.at.out_length * p.at.length * p.at.channels + c;
    p.y[i] = x[largest_in_window(p.at, x, row % p.at.out_length) * p.at.channels];
  });
}

template <class T>
void max_pool_backward(Cuda& cuda, const MaxPoolBackward<T>& p) {
  for_each(cuda, "max_pool_backward", p.at.batch * p.at.length * p.at.channels, [p] __device__(std::int64_t i) {
    const std::int64_t row = i / p.at.channels, c = i % p.at.channels, b = row / p.at.length;
    p.d_x[i] = gradient_of_step(p, p.x + b * p.at.length * p.at.channels + c,
                                p.d_y + b * p.at.out_length * p.at.channels + c, row % p.at.length);
  });
}

NPZOO_INSTANTIATE(max_pool_forward, MaxPoolForward);
NPZOO_INSTANTIATE(max_pool_backward, MaxPoolBackward);

}  // namespace npzoo
