#include "npzoo/engine/cuda/launch.h"
#include "npzoo/ops/moving_average/kernels.h"

namespace npzoo {

template <class T>
void moving_average_forward(Cuda& cuda, const MovingAverage<T>& p) {
  for_each(cuda, "moving_average", p.batch * p.length * p.width, [p] __device__(std::int64_t i) {
    const std::int64_t row = i / p.width, t = row % p.length;
    const std::int64_t first = t < p.reach ? 0 : t - p.reach,
                       last = t + p.reach < p.length ? t + p.reach : p.length - 1;
    const T* x = p.x + (row - t) * p.width + i % p.width;
    T sum = 0;
    for (std::int64_t s = first; s <= last; ++s)
      sum += static_cast<T>(p.transposed ? times_met(s, t, p.length, p.reach) : times_met(t, s, p.length, p.reach)) *
             x[s * p.width];
    p.y[i] = sum / static_cast<T>(2 * p.reach + 1);
  });
}

NPZOO_INSTANTIATE(moving_average_forward, MovingAverage);

}  // namespace npzoo
