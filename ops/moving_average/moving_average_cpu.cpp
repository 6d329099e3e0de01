#include <algorithm>
#include <cstring>

#include "npzoo/engine/cpu/simd.h"
#include "npzoo/ops/moving_average/kernels.h"

namespace npzoo {

template <class T, Isa isa>
void moving_average_forward(CpuContext<isa>& cpu, const MovingAverage<T>& p) {
  const T divisor = static_cast<T>(2 * p.reach + 1);
  cpu.parallel_for(p.batch * p.length, 1 + 4096 / (1 + p.width), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      const std::int64_t t = row % p.length, first = std::max<std::int64_t>(0, t - p.reach),
                         last = std::min(p.length - 1, t + p.reach);
      const T* x = p.x + (row - t) * p.width;
      T* y = p.y + row * p.width;
      std::memset(y, 0, sizeof(T) * p.width);
      for (std::int64_t s = first; s <= last; ++s) {
        const auto times =
            static_cast<T>(p.transposed ? times_met(s, t, p.length, p.reach) : times_met(t, s, p.length, p.reach));
        for (std::int64_t i = 0; i < p.width; ++i) y[i] += times * x[s * p.width + i];
      }
      for (std::int64_t i = 0; i < p.width; ++i) y[i] /= divisor;
    }
  });
}

NPZOO_INSTANTIATE(moving_average_forward, MovingAverage);

}  // namespace npzoo
