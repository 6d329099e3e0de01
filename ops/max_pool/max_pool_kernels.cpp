#include "npzoo/engine/for_each.h"
#include "npzoo/ops/max_pool/kernels.h"

namespace npzoo {

template <class T>
void max_pool_forward(KernelContext& context, const MaxPoolForward<T>& p) {
  const std::int64_t channels = p.at.channels;
  for_each(context, "max_pool", p.at.batch * p.at.out_length, channels,
           [p] NPZOO_EACH(std::int64_t row, std::int64_t c) {
             const T* x = p.x + row / p.at.out_length * p.at.length * p.at.channels + c;
             p.y[row * p.at.channels + c] = x[largest_in_window(p.at, x, row % p.at.out_length) * p.at.channels];
           });
}

template <class T>
void max_pool_backward(KernelContext& context, const MaxPoolBackward<T>& p) {
  const std::int64_t channels = p.at.channels;
  for_each(context, "max_pool_backward", p.at.batch * p.at.length, channels,
           [p] NPZOO_EACH(std::int64_t row, std::int64_t c) {
             const std::int64_t b = row / p.at.length;
             const T *x = p.x + b * p.at.length * p.at.channels, *d_y = p.d_y + b * p.at.out_length * p.at.channels;
             p.d_x[row * p.at.channels + c] = gradient_of_step(p, x + c, d_y + c, row % p.at.length);
           });
}

NPZOO_INSTANTIATE(max_pool_forward, MaxPoolForward);
NPZOO_INSTANTIATE(max_pool_backward, MaxPoolBackward);

}  // namespace npzoo
